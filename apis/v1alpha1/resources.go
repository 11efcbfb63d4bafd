package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources are the compute resources of the agent container.
type Resources struct {
	// The most that the container may use.
	// +optional
	Limits map[corev1.ResourceName]Amount `json:"limits,omitempty"`
	// What the node must have free for it.
	// +optional
	Requests map[corev1.ResourceName]Amount `json:"requests,omitempty"`
}

// Amount of a compute resource, such as 500m, 2 or 1Gi.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?([numkMGTPE]|[KMGTPE]i|[eE][0-9])?$`
type Amount string

// Amounts are kept as text. Reading a resource.Quantity fails on some texts
// that the schema of a Quantity takes, and needs minutes for others, and a
// stored document must never keep the operator from reading the rest (case
// A05). Those that follow this syntax are harmless.
var amountSyntax = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,30})?([numkMGTPE]|[KMGTPE]i|[eE][0-9])?$`)

var errAmount = errors.New("not an amount such as 500m, 2 or 1Gi")

// Quantity reads the amount. It fails for a text that the schema refuses.
func (a Amount) Quantity() (resource.Quantity, error) {
	if !amountSyntax.MatchString(string(a)) {
		return resource.Quantity{}, errAmount
	}
	quantity, err := resource.ParseQuantity(string(a))
	if err != nil || quantity.CmpInt64(math.MaxInt64) > 0 {
		return resource.Quantity{}, errAmount // A Quantity of more prints as something else.
	}
	return quantity, nil
}

// UnmarshalJSON takes a string, or a number as it is written. It never fails.
func (a *Amount) UnmarshalJSON(text []byte) error {
	var written string
	if json.Unmarshal(text, &written) != nil {
		written = string(bytes.TrimSpace(text))
	}
	*a = Amount(written)
	return nil
}

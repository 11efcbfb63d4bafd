package scorecard

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// samplesAdmitted asks the API server, without anything being made: it admits
// each example, keeps no status that somebody other than the operator writes,
// and refuses what has to be refused.
func samplesAdmitted(ctx context.Context, s subject, c Cluster) (found []finding) {
	for _, example := range s.examples {
		name, written := example.GetName(), fieldsOf(example, "status")["state"]
		switch err := c.admit(ctx, &example); {
		case err != nil:
			found = append(found, fault("The example %s is not admitted: %v", name, err))
		case written != nil && written == fieldsOf(example, "status")["state"]:
			found = append(found, fault("The status of the example %s is kept; only the operator may write it.", name))
		}
	}
	return append(found, refusalsHeld(ctx, c)...)
}

func refusalsHeld(ctx context.Context, c Cluster) (found []finding) {
	listed, err := refusals()
	if err != nil {
		return []finding{fault("The documents that must be refused cannot be read: %v.", err)}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		document := listed[name].document("refused")
		switch err := c.admit(ctx, &document); {
		case listed[name].Admitted && err != nil:
			found = append(found, fault("A document with %s is not admitted, so that the check cannot explain it: %v", name, err))
		case listed[name].Admitted:
		case err == nil:
			found = append(found, fault("A document with %s is admitted.", name))
		case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), listed[name].Message):
			found = append(found, fault("A document with %s is refused without saying %q: %v", name, listed[name].Message, err))
		}
	}
	return found
}

// admit makes a document as strictly as kubectl does, for the answer alone.
func (c Cluster) admit(ctx context.Context, document *unstructured.Unstructured) error {
	document.SetNamespace(c.Namespace)
	document.SetGenerateName(document.GetName() + "-")
	document.SetName("")
	return c.Client.Create(ctx, document, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
}

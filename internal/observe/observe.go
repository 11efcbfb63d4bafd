// Package observe turns what a cluster shows of an agent's children into
// lifecycle commands and one cause: a reason of the closed list of
// apis/v1alpha1 and a message for people.
//
// It is pure: no clock, no I/O. The same facts in another order give the same
// answer (case A37), and a fact that nobody could learn stays absent.
//
// Texts of the kubelet are classified and never copied, because they may hold
// credentials (case A39) and change from one retry to the next. Texts of the
// scheduler and of admission are copied without what changes in them.
package observe

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cause is why something is as it is. The zero Cause says that nothing is
// wrong. A message names the object and, where something is wrong, what to do.
type Cause struct {
	Reason  string
	Message string
}

// and returns the cause with one more sentence.
func (c Cause) and(sentence string) Cause {
	c.Message += " " + sentence
	return c
}

// maxText is how many runes of another party's text a message holds.
const maxText = 500

// cut shortens a text on a character boundary and ends it without a period, so
// that it can stand inside a sentence.
func cut(text string) string {
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ". ")
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}

// oldestFirst copies objects in the order of their creation, then of their
// names, then of their UIDs.
func oldestFirst[T any, P interface {
	*T
	metav1.Object
}](objects []T) []*T {
	sorted := make([]*T, 0, len(objects))
	for i := range objects {
		sorted = append(sorted, &objects[i])
	}
	slices.SortFunc(sorted, func(a, b *T) int { return compareAge(P(a), P(b)) })
	return sorted
}

func compareAge(a, b metav1.Object) int {
	return cmp.Or(
		a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		cmp.Compare(a.GetName(), b.GetName()),
		cmp.Compare(a.GetUID(), b.GetUID()))
}

// ownedBy returns the objects that the owner of this UID controls, oldest
// first. Names and labels prove nothing: another Job may carry them.
func ownedBy[T any, P interface {
	*T
	metav1.Object
}](objects []T, owner types.UID) []*T {
	return slices.DeleteFunc(oldestFirst[T, P](objects), func(object *T) bool {
		controller := metav1.GetControllerOfNoCopy(P(object))
		return controller == nil || controller.UID != owner
	})
}

func podCondition(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

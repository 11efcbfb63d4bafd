package stages

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ready is the condition that sums up every pass. Handlers cannot set it.
const Ready = "Ready"

// Reporter is what an object type implements to opt into automatic conditions. Its status is a field named Status.
// Built-in kinds do not implement it.
type Reporter interface {
	GetConditions() []metav1.Condition
	SetConditions(conditions []metav1.Condition)
	// SetObservedGeneration records the generation that the pass examined.
	SetObservedGeneration(generation int64)
}

// GetCondition returns a copy of a condition, and whether the object has it.
func GetCondition(obj Reporter, conditionType string) (metav1.Condition, bool) {
	if c := meta.FindStatusCondition(obj.GetConditions(), conditionType); c != nil {
		return *c, true
	}
	return metav1.Condition{}, false
}

// report stages the automatic conditions: True for the stages that succeeded, the outcome for the one that ended the
// pass, Unknown for those that did not run, and Ready.
func (p *Pass[T]) report(outcome Outcome) {
	if !p.controller.reports {
		return
	}
	for i, s := range p.controller.steps {
		switch done := len(p.reached); {
		case s.Condition == "":
		case i < done:
			p.setCondition(s.Condition, metav1.ConditionTrue, p.reached[i].Reason, p.reached[i].Message)
		case i == done:
			p.setCondition(s.Condition, metav1.ConditionFalse, outcome.Reason, outcome.Message)
		default:
			p.setCondition(s.Condition, metav1.ConditionUnknown, "DependencyNotReady", fmt.Sprintf("Not examined, because %s is not True.", p.active()))
		}
	}
	truth := metav1.ConditionFalse
	if outcome.Kind == Succeeded {
		truth = metav1.ConditionTrue
	}
	p.setCondition(Ready, truth, outcome.Reason, outcome.Message)
}

func (p *Pass[T]) setCondition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	p.set = append(p.set, conditionType)
	conditions := p.reporter.GetConditions()
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: cleanReason(reason, string(status)), Message: cut(message, maxMessage),
		ObservedGeneration: p.generation, LastTransitionTime: metav1.NewTime(p.now),
	})
	p.reporter.SetConditions(conditions)
}

// complete removes the retired conditions that the pass did not set, and records the examined generation.
func (p *Pass[T]) complete() {
	if !p.controller.reports {
		return
	}
	p.reporter.SetConditions(slices.DeleteFunc(p.reporter.GetConditions(), func(c metav1.Condition) bool {
		return slices.Contains(p.controller.retired, c.Type) && !slices.Contains(p.set, c.Type)
	}))
	p.reporter.SetObservedGeneration(p.generation)
}

// writeStatus writes the staged status when it differs from the status as read, and tells whether it did.
//
// The write is an update with the UID and the resource version of the object as read: the API server compares both
// and answers a conflict when either changed. An update costs the API server less than a patch, which it has to apply
// to the stored object first; spec and metadata in the body are ignored by the status subresource. Without that
// subresource it is a patch, so that fields unknown to the Go type survive.
func (c *Controller[T]) writeStatus(ctx context.Context, p *Pass[T]) (bool, error) {
	if status := statusOf(p.base); !status.IsValid() || equality.Semantic.DeepEqual(status.Addr().Interface(), statusOf(p.object).Addr().Interface()) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusBudget)
	defer cancel()
	staged := clone(p.base)
	copyStatus(staged, p.object)
	var err error
	if c.subresource {
		err = c.client.Status().Update(ctx, staged)
	} else {
		err = c.client.Patch(ctx, staged, client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{}))
	}
	if err == nil {
		c.memory.Add(staged.GetUID(), staged.GetResourceVersion(), catchUp)
	}
	return true, err
}

// statusOf returns the field that every API type calls Status; it is not valid when obj has none.
func statusOf(obj client.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// copyStatus makes dst share the status of src.
func copyStatus(dst, src client.Object) {
	if status := statusOf(dst); status.IsValid() {
		status.Set(statusOf(src))
	}
}

func clone[O client.Object](obj O) O { return obj.DeepCopyObject().(O) }

// blank returns a new, empty object of the type of obj.
func blank[O client.Object](obj O) O {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(O)
}

const (
	// maxMessage is the longest condition message in bytes. The API allows 32768 (metav1.Condition); a message that
	// long helps nobody, and there are several in one status.
	maxMessage = 4096
	// maxReason is the longest condition reason that the API allows (metav1.Condition).
	maxReason = 1024
	// cutMark ends a text that was cut.
	cutMark = " (cut)"
)

// cut shortens text to at most limit bytes, between two characters, and marks the cut. Bytes that are no character are
// replaced as JSON would do it: else the stored text would differ from the same text in every later pass.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(cutMark)], "") + cutMark
}

// refused matches what the API refuses in a reason.
var refused = regexp.MustCompile(`^[^A-Za-z]+|[^A-Za-z0-9_,:]+`)

// cleanReason removes what the API refuses in a reason. Reasons may come from elsewhere, such as a container runtime,
// and one odd character must not make the API refuse the whole status.
func cleanReason(reason, fallback string) string {
	cleaned := refused.ReplaceAllString(reason, "")
	cleaned = strings.TrimRight(cleaned[:min(len(cleaned), maxReason)], ",:")
	return cmp.Or(cleaned, fallback)
}

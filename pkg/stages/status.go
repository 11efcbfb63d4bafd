package stages

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reporter is what an object type implements to opt into automatic conditions. Its status is a struct field with the
// JSON name "status". Built-in kinds do not implement it.
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

const (
	// maxMessage is the longest condition message in bytes. The API allows 32768 (metav1.Condition); a message that
	// long helps nobody, and there are several in one status.
	maxMessage = 4096
	// maxReason is the longest condition reason that the API allows (metav1.Condition).
	maxReason = 1024
	// maxNote is the longest note that the API allows (events.k8s.io/v1).
	maxNote = 1024
	// cutMark ends a text that was cut.
	cutMark = " (cut)"
)

// cut shortens text to at most limit bytes, between two characters, and marks the cut.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(cutMark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// cleanReason removes what the API refuses in a reason. Reasons may come from elsewhere, such as a container runtime,
// and one odd character must not make the API refuse the whole status.
func cleanReason(reason, fallback string) string {
	cleaned := strings.Map(func(r rune) rune {
		if letter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_,:", r) {
			return r
		}
		return -1
	}, reason)
	cleaned = strings.TrimLeftFunc(cleaned, func(r rune) bool { return !letter(r) })
	cleaned = strings.TrimRight(cleaned[:min(len(cleaned), maxReason)], ",:")
	if cleaned == "" {
		return fallback
	}
	return cleaned
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// report stages the automatic conditions: True for the stages that succeeded, the outcome for the one that ended the
// pass, Unknown for those that did not run, and Ready.
func (p *Pass[T]) report(outcome Outcome) {
	for i, s := range p.steps {
		switch done := len(p.reached) - 1; {
		case i < done:
			p.setCondition(s.condition, metav1.ConditionTrue, p.reached[i].reason, p.reached[i].message)
		case i == done && outcome.Kind != Succeeded:
			p.setCondition(s.condition, metav1.ConditionFalse, outcome.Reason, outcome.Message)
		default:
			blocking := p.steps[min(done, len(p.steps)-1)].condition
			p.setCondition(s.condition, metav1.ConditionUnknown, "DependencyNotReady", fmt.Sprintf("Not examined, because %s is not True.", blocking))
		}
	}
	truth := metav1.ConditionFalse
	if outcome.Kind == Succeeded {
		truth = metav1.ConditionTrue
	}
	p.setCondition(Ready, truth, outcome.Reason, outcome.Message)
}

// finishStatus removes the retired conditions that the pass did not set and records the examined generation.
func (p *Pass[T]) finishStatus(retired []string) {
	for _, conditionType := range retired {
		if !p.set[conditionType] {
			p.removeCondition(conditionType)
		}
	}
	any(p.staged).(Reporter).SetObservedGeneration(p.generation)
}

// writeStatus writes the staged status when it differs from the status as read, and tells whether it did.
//
// The write is an update with the UID and the resource version of the object as read: the API server compares both
// and answers a conflict when either changed. An update costs the API server less than a patch, which it has to apply
// to the stored object first; spec and metadata in the body are ignored by the status subresource. Without that
// subresource it is a patch, so that fields unknown to the Go type survive.
func (c *Controller[T]) writeStatus(ctx context.Context, p *Pass[T]) (bool, error) {
	if equality.Semantic.DeepEqual(statusOf(p.base), statusOf(p.staged)) {
		return false, nil
	}
	separate, err := c.subresource()
	if err != nil {
		return false, err
	}
	if separate {
		return true, c.client.Status().Update(ctx, p.staged)
	}
	from := client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{})
	return true, c.client.Patch(ctx, p.staged, from)
}

// subresource tells whether the API serves a status subresource for T. The answer is kept.
func (c *Controller[T]) subresource() (bool, error) {
	c.discovered.Lock()
	defer c.discovered.Unlock()
	if c.separate != nil {
		return *c.separate, nil
	}
	separate := true
	if c.config.discovery != nil {
		gvk, err := c.client.GroupVersionKindFor(newObject[T]())
		if err != nil {
			return false, err
		}
		list, err := c.config.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil {
			return false, fmt.Errorf("discover the status subresource of %s: %w", gvk.GroupKind(), err)
		}
		separate = false
		for _, r := range list.APIResources {
			separate = separate || r.Kind == gvk.Kind && strings.HasSuffix(r.Name, "/status")
		}
	}
	c.separate = &separate
	return separate, nil
}

// statusField finds the field with the JSON name "status" in the struct that typ points to.
func statusField(typ reflect.Type) (int, bool) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return 0, false
	}
	for i := range typ.Elem().NumField() {
		if name, _, _ := strings.Cut(typ.Elem().Field(i).Tag.Get("json"), ","); name == "status" {
			return i, true
		}
	}
	return 0, false
}

// statusOf returns the status of obj, or nil when its type has none.
func statusOf(obj client.Object) any {
	i, ok := statusField(reflect.TypeOf(obj))
	if !ok {
		return nil
	}
	return reflect.ValueOf(obj).Elem().Field(i).Interface()
}

// copyStatus makes dst share the status of src.
func copyStatus(dst, src client.Object) {
	if i, ok := statusField(reflect.TypeOf(dst)); ok {
		reflect.ValueOf(dst).Elem().Field(i).Set(reflect.ValueOf(src).Elem().Field(i))
	}
}

func clone[T client.Object](obj T) T { return obj.DeepCopyObject().(T) }

func newObject[T client.Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

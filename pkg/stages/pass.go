package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ready is the condition that sums up every pass. Handlers cannot set it.
const Ready = "Ready"

// Pass is one run over one object. It is handed to every handler and predicate and must not be kept.
type Pass[T client.Object] struct {
	controller *Controller[T]
	now        time.Time
	generation int64 // that conditions report as observed

	base   T // as read; never changed
	object T // what handlers see and may edit
	staged T // base with the status that will be written

	steps   []step[T]
	active  *step[T] // the stage that runs
	entered bool     // stages or root cases run
	reached []words  // of each stage that succeeded, and of what runs now

	values map[reflect.Type]any
	set    map[string]bool // conditions set in this pass
	events []queuedEvent
	after  time.Duration
	save   bool
	writes int
	fault  error
}

// words are the reason and message of a True condition.
type words struct{ reason, message string }

// Object returns the working copy of the object, with the status as staged so far. Edits of spec and metadata are
// dropped unless [Pass.Save] is called; edits of status are always dropped, use [Pass.SetStatus].
func (p *Pass[T]) Object() T { return p.object }

// Now returns the time of the pass, the same whenever it is asked.
func (p *Pass[T]) Now() time.Time { return p.now }

// SetStatus edits the status that is written at the end of the pass, also when the pass fails later. The edit sees the
// object with the status staged so far; what it changes outside the status, and in the conditions, is dropped.
func (p *Pass[T]) SetStatus(edit func(obj T)) {
	if _, ok := statusField(reflect.TypeFor[T]()); !ok {
		p.refuse(fmt.Errorf("%T has no status to set", p.base))
		return
	}
	scratch := clone(p.staged)
	edit(scratch)
	if r, ok := any(scratch).(Reporter); ok {
		r.SetConditions(any(p.staged).(Reporter).GetConditions())
	}
	copyStatus(p.staged, scratch)
	copyStatus(p.object, clone(scratch))
}

// Condition sets a condition beside the automatic ones. Ready and the stages' conditions are reserved to the runtime:
// naming one makes the pass fail.
func (p *Pass[T]) Condition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	if p.mayChange(conditionType) {
		p.setCondition(conditionType, status, reason, message)
	}
}

// RemoveCondition removes a condition, if it is there. Reserved ones are refused as in Condition.
func (p *Pass[T]) RemoveCondition(conditionType string) {
	if p.mayChange(conditionType) {
		delete(p.set, conditionType)
		p.removeCondition(conditionType)
	}
}

// Reached gives the active stage's condition its reason and message for when the stage succeeds. Those of the last
// stage, or of a handler without stages, are also Ready's.
func (p *Pass[T]) Reached(reason, message string) {
	p.reached[len(p.reached)-1] = words{reason, message}
}

// RequeueAfter asks for another pass after a success or a stop; the shortest delay that the pass asked for counts.
func (p *Pass[T]) RequeueAfter(d time.Duration) {
	d = max(d, time.Millisecond)
	if p.after == 0 || d < p.after {
		p.after = d
	}
}

// Get reads an object from the API server, past every cache: a cache may not have seen yet what an earlier stage wrote.
func (p *Pass[T]) Get(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	return p.controller.live.Get(ctx, key, obj)
}

// Put keeps a value for the later stages of the same pass, one for each type V.
func Put[T client.Object, V any](p *Pass[T], value V) {
	p.values[reflect.TypeFor[V]()] = value
}

// Value returns what an earlier stage of the same pass Put, and whether there is one.
func Value[V any, T client.Object](p *Pass[T]) (V, bool) {
	value, ok := p.values[reflect.TypeFor[V]()].(V)
	return value, ok
}

// enter makes the stages' conditions known to the pass before the first stage runs.
func (p *Pass[T]) enter(steps []step[T]) error {
	if p.entered {
		return misuse(errors.New("a stage or a case cannot embed a pipeline, and a pass runs only one"))
	}
	for _, s := range steps {
		if p.set[s.condition] {
			return misuse(fmt.Errorf("condition %s is reserved for stage %q, but the handler has set it", s.condition, s.name))
		}
	}
	p.entered, p.steps = true, steps
	return nil
}

// advance records that the active stage succeeded, with words of its own or the usual ones.
func (p *Pass[T]) advance() {
	said := &p.reached[len(p.reached)-1]
	said.reason = cleanReason(said.reason, string(Succeeded))
	said.message = cmp.Or(said.message, fmt.Sprintf("Stage %q succeeded.", p.active.name))
	p.active = nil
	p.reached = append(p.reached, words{})
}

func misuse(err error) error {
	return Fail("Misuse", "The controller uses its runtime wrongly. This is a bug in the controller; its log has the details.", err)
}

// refuse records the first misuse of the pass; it makes the pass fail, whatever the handler returns.
func (p *Pass[T]) refuse(err error) {
	if p.fault == nil {
		p.fault = misuse(err)
	}
}

func (p *Pass[T]) mayChange(conditionType string) bool {
	reserved := conditionType == Ready || slices.ContainsFunc(p.steps, func(s step[T]) bool { return s.condition == conditionType })
	if reserved {
		p.refuse(fmt.Errorf("condition %s is reserved to the runtime", conditionType))
	}
	if _, ok := any(p.base).(Reporter); !ok {
		p.refuse(fmt.Errorf("%T has no conditions: it does not implement stages.Reporter", p.base))
		return false
	}
	return !reserved
}

func (p *Pass[T]) setCondition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	p.set[conditionType] = true
	p.editConditions(func(conditions *[]metav1.Condition) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: cleanReason(reason, string(status)), Message: cut(message, maxMessage),
			ObservedGeneration: p.generation, LastTransitionTime: metav1.NewTime(p.now),
		})
	})
}

func (p *Pass[T]) removeCondition(conditionType string) {
	p.editConditions(func(conditions *[]metav1.Condition) { meta.RemoveStatusCondition(conditions, conditionType) })
}

func (p *Pass[T]) editConditions(edit func(*[]metav1.Condition)) {
	staged := any(p.staged).(Reporter)
	conditions := slices.Clone(staged.GetConditions())
	edit(&conditions)
	staged.SetConditions(conditions)
	any(p.object).(Reporter).SetConditions(slices.Clone(conditions))
}

// stage names the active stage, if there is one.
func (p *Pass[T]) stage() string {
	if p.active == nil {
		return ""
	}
	return p.active.name
}

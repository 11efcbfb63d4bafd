package stages

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pass is one run over one object. It is handed to every handler and predicate and must not be kept.
type Pass[T client.Object] struct {
	controller *Controller[T]
	now        time.Time
	generation int64 // that conditions report as observed

	base   T // as read; never changed
	object T // what handlers see and edit

	reporter Reporter // the object, if it is one
	set      []string // the conditions set in this pass

	reached []Outcome // of each step that succeeded
	said    Outcome   // words of the active step
	values  map[reflect.Type]any
	events  []eventsv1.Event
	after   time.Duration
	writes  int // but for the status
}

func newPass[T client.Object](c *Controller[T], obj T) *Pass[T] {
	p := &Pass[T]{
		controller: c, now: c.clock.Now(), base: obj, object: clone(obj), generation: obj.GetGeneration(),
		values: map[reflect.Type]any{},
	}
	p.reporter, _ = any(p.object).(Reporter)
	if !c.subresource {
		p.generation = 0 // Each status write counts as a new one, so a report of the one examined would never end.
	}
	return p
}

// Object returns the working copy of the object. Status fields that are set on it are written at the end of the pass,
// also when the pass fails later; [Pass.Condition] sets conditions. Edits of spec and metadata are
// dropped, unless [Pass.Save] writes them.
func (p *Pass[T]) Object() T { return p.object }

// Now returns the time of the pass, the same whenever it is asked.
func (p *Pass[T]) Now() time.Time { return p.now }

// Condition sets a condition beside the automatic ones, also when the pass fails later. Ready and the stages'
// conditions are reserved to the runtime: naming one is a bug, and panics.
func (p *Pass[T]) Condition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	switch {
	case p.reporter == nil:
		panic(fmt.Sprintf("%T has no conditions: it does not implement stages.Reporter", p.base))
	case conditionType == Ready || slices.Contains(p.controller.conditions, conditionType):
		panic(fmt.Sprintf("condition %s is reserved to the runtime", conditionType))
	}
	p.setCondition(conditionType, status, reason, message)
}

// Reached gives the active stage's condition its reason and message for when the stage succeeds. Those of the last
// stage, or of a handler without stages, are also Ready's.
func (p *Pass[T]) Reached(reason, message string) { p.said = Outcome{Reason: reason, Message: message} }

// RequeueAfter asks for another pass after a success or a stop; the shortest delay that the pass asked for counts.
func (p *Pass[T]) RequeueAfter(d time.Duration) {
	d = max(d, time.Millisecond)
	p.after = min(d, cmp.Or(p.after, d))
}

// Get reads an object from the API server, past every cache: a cache may not have seen yet what an earlier stage wrote.
func (p *Pass[T]) Get(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	return p.controller.live.Get(ctx, key, obj)
}

// Put keeps a value for the later stages of the same pass, one for each type V.
func Put[T client.Object, V any](p *Pass[T], value V) { p.values[reflect.TypeFor[V]()] = value }

// Value returns what an earlier stage of the same pass Put, and whether there is one.
func Value[V any, T client.Object](p *Pass[T]) (V, bool) {
	value, ok := p.values[reflect.TypeFor[V]()].(V)
	return value, ok
}

// Save writes the edits of the object's spec and metadata at once, ahead of the status: at the end of a handler, or as
// a mark that must be stored before a step that cannot be taken back. Nothing is written when nothing changed. The write
// is guarded by the resource version that the pass works on, so a pass over an old version saves nothing: its conflict
// restarts the pass when the handler returns it. The pass goes on with the new version.
func (p *Pass[T]) Save(ctx context.Context) error {
	c, edited := p.controller, clone(p.object)
	copyStatus(edited, clone(p.base))
	if equality.Semantic.DeepEqual(edited, p.base) {
		return nil
	}
	if err := c.client.Patch(ctx, edited, client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{}), client.FieldOwner(c.fieldOwner)); err != nil {
		return fmt.Errorf("save the object: %w", err)
	}
	p.writes++
	c.memory.Add(edited.GetUID(), edited.GetResourceVersion(), catchUp)
	p.base, edited = edited, clone(edited)
	copyStatus(edited, p.object)
	reflect.ValueOf(p.object).Elem().Set(reflect.ValueOf(edited).Elem())
	return nil
}

// active returns the condition of the step that runs or that ended the pass; it is empty without one.
func (p *Pass[T]) active() string {
	if done := len(p.reached); done < len(p.controller.steps) {
		return p.controller.steps[done].Condition
	}
	return ""
}

package stages

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// maxQueued is how many Events the handlers of one pass can queue; more are dropped.
	maxQueued = 32
	// maxName is the longest action, reason or reporting instance that the API allows (events.k8s.io/v1).
	maxName = 128
	// rememberedEvents and rememberFor bound the memory of what was sent: enough for a few thousand objects, and short
	// enough that a lasting failure shows up again before the API server forgets the first Event (one hour).
	rememberedEvents = 8192
	rememberFor      = 30 * time.Minute
)

// maxEventPrefix leaves room for the 17 characters after it in a name of at most 253 (RFC 1123 subdomain).
const maxEventPrefix = 236

type queuedEvent struct {
	kind, reason, action, note string
	related                    client.Object
}

// EventOption adds to an Event.
type EventOption func(*queuedEvent)

// Warning makes the Event a Warning instead of Normal.
func Warning() EventOption { return func(e *queuedEvent) { e.kind = corev1.EventTypeWarning } }

// Action says what the controller did; the default is Reconcile. An Event of the same object, generation, reason and
// action is sent once in 30 minutes, so give distinct actions to distinct occurrences.
func Action(action string) EventOption { return func(e *queuedEvent) { e.action = action } }

// Related names a second object, such as the child that was created.
func Related(obj client.Object) EventOption { return func(e *queuedEvent) { e.related = obj } }

// Event queues a Kubernetes Event. It is sent after the status is written, and dropped when the status cannot be
// written. A delivery that fails is not repeated: Events are for people, not for programs.
func (p *Pass[T]) Event(reason, message string, options ...EventOption) {
	e := queuedEvent{kind: corev1.EventTypeNormal, reason: reason, action: "Reconcile", note: message}
	for _, option := range options {
		option(&e)
	}
	if len(p.events) < maxQueued {
		p.events = append(p.events, e)
	}
}

// automaticEvents are a Warning for a failure, and one Event for each reported condition whose truth or reason changed.
// Changes to Unknown only follow from another condition and get none.
func (c *Controller[T]) automaticEvents(p *Pass[T], outcome Outcome) []queuedEvent {
	var events []queuedEvent
	active, reported := Ready, []string{Ready}
	if len(p.steps) > 0 {
		reported = nil
	}
	for _, s := range p.steps {
		reported = append(reported, s.condition)
	}
	if p.active != nil {
		active = p.active.condition
	}
	if outcome.failed() {
		events = append(events, queuedEvent{corev1.EventTypeWarning, outcome.Reason, active, outcome.Message, nil})
	}
	if !c.reports || !c.config.transitions {
		return events
	}
	for _, conditionType := range reported {
		before, _ := GetCondition(any(p.base).(Reporter), conditionType)
		after, _ := GetCondition(any(p.staged).(Reporter), conditionType)
		unchanged := before.Status == after.Status && before.Reason == after.Reason
		if unchanged || after.Status == metav1.ConditionUnknown {
			continue
		}
		kind := corev1.EventTypeNormal
		if conditionType == active && (outcome.Kind == Stopped || outcome.failed()) {
			kind = corev1.EventTypeWarning // For a failure this repeats the Event above, and is suppressed.
		}
		events = append(events, queuedEvent{kind, after.Reason, conditionType, after.Message, nil})
	}
	return events
}

// recorder sends Events and remembers what it sent.
type recorder struct {
	config   config
	client   client.Client
	name     string
	instance string
	sent     *cache.LRUExpireCache
}

type eventKey struct {
	uid            types.UID
	generation     int64
	reason, action string
}

func newRecorder(name string, cfg config, c client.Client) *recorder {
	instance := name
	if host, err := os.Hostname(); err == nil {
		instance = cut(name+"-"+host, maxName)
	}
	return &recorder{config: cfg, client: c, name: name, instance: instance, sent: cache.NewLRUExpireCacheWithClock(rememberedEvents, cfg.clock)}
}

// flush sends the Events about obj one after another, within the budget. Failures are logged for debugging only.
func (r *recorder) flush(ctx context.Context, obj client.Object, events []queuedEvent) {
	if !r.config.events || len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.eventBudget)
	defer cancel()
	for i, e := range events {
		if ctx.Err() != nil {
			log.FromContext(ctx).V(1).Info("Events dropped, the time for them is used up", "count", len(events)-i)
			return
		}
		e.reason, e.action = cut(cleanReason(e.reason, "Reconciled"), maxName), cut(e.action, maxName)
		key := eventKey{obj.GetUID(), obj.GetGeneration(), e.reason, e.action}
		if _, repeated := r.sent.Get(key); repeated {
			continue
		}
		if err := r.send(ctx, obj, e); err != nil {
			log.FromContext(ctx).V(1).Info("Event not delivered", "reason", e.reason, "error", err.Error())
		}
		r.sent.Add(key, true, rememberFor)
	}
}

func (r *recorder) send(ctx context.Context, obj client.Object, e queuedEvent) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.eventTimeout)
	defer cancel()
	regarding, err := reference.GetReference(r.client.Scheme(), obj)
	if err != nil {
		return err
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: eventName(obj), Namespace: obj.GetNamespace()},
		EventTime:  metav1.NewMicroTime(r.config.clock.Now()),
		Type:       e.kind, Reason: e.reason, Action: e.action, Note: cut(e.note, maxNote),
		ReportingController: r.name, ReportingInstance: r.instance,
		Regarding: *regarding,
	}
	if event.Namespace == "" {
		event.Namespace = r.config.eventNamespace
	}
	if e.related != nil {
		if event.Related, err = reference.GetReference(r.client.Scheme(), e.related); err != nil {
			return err
		}
	}
	return r.client.Create(ctx, event)
}

// eventName makes a name of its own for an Event, in the form that client-go gives them. The API server would not do:
// a generated name must not follow a dot, and is cut to 63 characters.
func eventName(obj client.Object) string {
	name := obj.GetName()
	name = strings.TrimRight(name[:min(len(name), maxEventPrefix)], "-.")
	return fmt.Sprintf("%s.%016x", name, rand.Uint64())
}

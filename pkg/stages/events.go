package stages

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// maxQueued is how many Events the handlers of one pass can queue; more are dropped.
	maxQueued = 32
	// maxName and maxNote are the longest action, reason or reporting instance, and the longest note, that the API
	// allows (events.k8s.io/v1).
	maxName, maxNote = 128, 1024
	// rememberFor is how long an Event is not repeated: a lasting failure shows up again before the API server forgets
	// the first Event (one hour).
	rememberFor = 30 * time.Minute
)

// Event queues a Kubernetes Event; the type is Normal or Warning (corev1.EventTypeNormal). It is sent after the status
// is written, and dropped when the status cannot be written. A delivery that fails is not repeated: Events are for
// people, not for programs.
//
// The action says what the controller did. An Event of the same object, generation, reason and action is sent once in
// 30 minutes, so give distinct actions to distinct occurrences.
func (p *Pass[T]) Event(eventtype, reason, action, note string) {
	if len(p.events) < maxQueued {
		p.events = append(p.events, newEvent(eventtype, reason, action, note))
	}
}

func newEvent(eventtype, reason, action, note string) eventsv1.Event {
	return eventsv1.Event{
		Type: eventtype, Reason: cut(cleanReason(reason, "Reconciled"), maxName),
		Action: cmp.Or(cut(action, maxName), "Reconcile"), Note: cut(note, maxNote),
	}
}

// automaticEvents are a Warning for a failure, and a Normal Event for each condition whose truth or reason changed
// otherwise. Changes to Unknown only follow from another condition and get none.
func (c *Controller[T]) automaticEvents(p *Pass[T], outcome Outcome) (events []eventsv1.Event) {
	failing := ""
	if outcome.failed() {
		failing = cmp.Or(p.active(), Ready)
		events = append(events, newEvent(corev1.EventTypeWarning, outcome.Reason, failing, outcome.Message))
	}
	if !c.reports || !c.transitionEvents {
		return events
	}
	for _, conditionType := range c.conditions {
		was, _ := GetCondition(any(p.base).(Reporter), conditionType)
		is, _ := GetCondition(p.reporter, conditionType)
		if changed := was.Status != is.Status || was.Reason != is.Reason; changed && is.Status != metav1.ConditionUnknown && conditionType != failing {
			events = append(events, newEvent(corev1.EventTypeNormal, is.Reason, conditionType, is.Message))
		}
	}
	return events
}

// sendEvents sends the Events of a pass one after another, within the budget. Failures are logged for debugging only.
func (c *Controller[T]) sendEvents(ctx context.Context, p *Pass[T], outcome Outcome) {
	if !c.events {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.eventBudget)
	defer cancel()
	for _, event := range append(p.events, c.automaticEvents(p, outcome)...) {
		key := fmt.Sprintf("%s/%d/%s/%s", p.base.GetUID(), p.base.GetGeneration(), event.Reason, event.Action)
		if _, repeated := c.memory.Get(key); repeated {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = c.send(ctx, p.base, &event)
			c.memory.Add(key, true, rememberFor)
		}
		if err != nil {
			log.FromContext(ctx).V(1).Info("Event not delivered", "reason", event.Reason, "error", err.Error())
		}
	}
}

func (c *Controller[T]) send(ctx context.Context, obj T, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, c.eventTimeout)
	defer cancel()
	regarding, err := reference.GetReference(c.client.Scheme(), obj)
	if err != nil {
		return err
	}
	event.Regarding = *regarding
	// The clock is too coarse to tell two Events of one pass apart.
	event.Name = util.GenerateEventName(obj.GetName(), rand.Int64())
	event.Namespace = cmp.Or(obj.GetNamespace(), c.eventNamespace)
	event.EventTime = metav1.NewMicroTime(c.clock.Now())
	event.ReportingController, event.ReportingInstance = c.name, cut(c.name+"-"+c.host, maxName)
	return c.client.Create(ctx, event)
}

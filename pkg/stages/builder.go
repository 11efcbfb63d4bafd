package stages

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/apply"
)

// Builder collects the parts of a controller. Nothing is checked until Validate or Build.
type Builder[T client.Object] struct {
	options              []Option
	registered, embedded []*Stage[T]
	summarize            func(*Pass[T], Outcome)
}

// For starts a controller of the given name for objects of type T, such as *v1.Settings. The name must be valid in
// Events and as a field manager, so keep to a DNS name.
func For[T client.Object](name string, options ...Option) *Builder[T] {
	named := func(c *config) { c.name, c.fieldOwner = name, name }
	return &Builder[T]{options: append([]Option{named}, options...), summarize: func(*Pass[T], Outcome) {}}
}

// Reconcile makes one handler the whole controller.
func (b *Builder[T]) Reconcile(handler Handler[T]) *Builder[T] {
	b.Root().Do(handler)
	return b
}

// Stage adds a stage that establishes a condition and returns it, to be described further.
func (b *Builder[T]) Stage(condition string) *Stage[T] {
	stage := &Stage[T]{Condition: condition}
	b.registered = append(b.registered, stage)
	return stage
}

// Root returns the work of a controller without stages, to be given root cases.
func (b *Builder[T]) Root() *Stage[T] { return b.Stage("") }

// Embed takes stages that were written as plain data. It cannot be mixed with the methods above.
func (b *Builder[T]) Embed(stages ...*Stage[T]) *Builder[T] {
	b.embedded = append(b.embedded, stages...)
	return b
}

// Summarize registers a function that is called once in every pass that reports, after the stages ran and their
// conditions are staged, and before the status is written. It may set the status and further conditions.
func (b *Builder[T]) Summarize(f func(pass *Pass[T], outcome Outcome)) *Builder[T] {
	b.summarize = f
	return b
}

// Validate reports everything that is wrong with the controller, without a cluster.
func (b *Builder[T]) Validate() error {
	_, err := b.Build(nil, nil)
	return err
}

// Build validates the controller and returns it. Writes and ordinary reads go to c, which usually reads from a cache;
// [Pass.Get] reads from live, the manager's API reader.
func (b *Builder[T]) Build(c client.Client, live client.Reader) (*Controller[T], error) {
	host, _ := os.Hostname() // An Event without it is fine.
	built := &Controller[T]{
		config: defaults, host: host, summarize: b.summarize, client: c, live: live, subresource: true,
		reports: reflect.TypeFor[T]().Implements(reflect.TypeFor[Reporter]()),
	}
	for _, option := range b.options {
		option(&built.config)
	}
	built.memory = cache.NewLRUExpireCacheWithClock(remembered, built.clock)
	built.children = apply.New(c, live, built.fieldOwner, built.annotation, built.clock)
	var err error
	built.steps, err = compile(append(b.registered, b.embedded...))
	if len(b.registered) > 0 && len(b.embedded) > 0 {
		err = errors.Join(err, fmt.Errorf("%v are registered and %v are embedded: use one style", b.registered, b.embedded))
	}
	if err := errors.Join(err, built.check()); err != nil {
		return nil, fmt.Errorf("controller %q: %w", built.name, err)
	}
	for _, s := range built.steps {
		built.conditions = append(built.conditions, cmp.Or(s.Condition, Ready))
	}
	return built, nil
}

func (c *Controller[T]) check() error {
	switch {
	case reflect.TypeFor[T]().Kind() != reflect.Pointer:
		return fmt.Errorf("For needs a pointer to an API type, not %s", reflect.TypeFor[T]())
	case c.name == "" || c.fieldOwner == "" || c.annotation == "" || c.clock == nil:
		return errors.New("the controller needs a name, a field owner, an annotation and a clock")
	case c.every < 0 || min(c.timeout, c.eventBudget, c.eventTimeout) <= 0:
		return errors.New("the options Every, Timeout and EventBudget need positive durations")
	case c.eventNamespace != metav1.NamespaceDefault && c.eventNamespace != metav1.NamespaceSystem:
		return fmt.Errorf("the API server takes Events about cluster-scoped objects in %q and %q, not in EventNamespace %q", metav1.NamespaceDefault, metav1.NamespaceSystem, c.eventNamespace)
	case ptr.Deref(c.report, false) && !c.reports:
		return fmt.Errorf("%T cannot report status: it does not implement stages.Reporter", *new(T))
	case c.reports && !statusOf(blank(*new(T))).IsValid():
		return fmt.Errorf("%T cannot report status: it has no field Status", *new(T))
	case c.client != nil && c.events && !c.client.Scheme().IsGroupRegistered(eventsv1.GroupName):
		return errors.New("the client's scheme lacks events.k8s.io/v1: add it, or switch Events off")
	}
	c.reports = c.reports && ptr.Deref(c.report, true)
	return nil
}

// Option changes a default of a controller.
type Option func(*config)

type config struct {
	name, fieldOwner, annotation           string
	failureReason, eventNamespace          string
	every, timeout                         time.Duration
	eventBudget, eventTimeout              time.Duration
	clock                                  clock.PassiveClock
	owned                                  []client.Object
	retired                                []string
	report, statusUpdates                  *bool
	events, transitionEvents, withDeletion bool
}

var defaults = config{
	annotation: "stages.beyond10x.dev/applied", eventNamespace: metav1.NamespaceDefault,
	timeout: 2 * time.Minute, eventBudget: 2 * time.Second, eventTimeout: time.Second,
	clock: clock.RealClock{}, events: true, transitionEvents: true,
}

// Every schedules a pass after each success, to repair drift. A RequeueAfter of the pass takes precedence.
func Every(d time.Duration) Option { return func(c *config) { c.every = d } }

// Timeout bounds the handlers of one pass; the default is two minutes. A pass that exceeds it has failed and is retried.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// Owns names kinds of children, whose changes trigger a pass of the object that controls them.
func Owns(children ...client.Object) Option {
	return func(c *config) { c.owned = append(c.owned, children...) }
}

// FieldOwner is the field manager of Ensure; the default is the controller's name.
func FieldOwner(owner string) Option { return func(c *config) { c.fieldOwner = owner } }

// AppliedAnnotation is the annotation in which Ensure keeps the digest of what it applied; the default is
// stages.beyond10x.dev/applied.
func AppliedAnnotation(key string) Option { return func(c *config) { c.annotation = key } }

// Retire names condition types that this controller sets in other shapes. Those that a pass does not set are removed.
func Retire(conditionTypes ...string) Option {
	return func(c *config) { c.retired = append(c.retired, conditionTypes...) }
}

// FailureReason is the reason of failures that carry no words of their own, for controllers whose list of reasons is
// closed. By default the reason is the class of the error, which stands in the message in any case.
func FailureReason(reason string) Option { return func(c *config) { c.failureReason = reason } }

// ReportStatus switches automatic conditions on or off. By default a type that implements [Reporter] reports. True
// requires such a type.
func ReportStatus(on bool) Option { return func(c *config) { c.report = &on } }

// StatusUpdates decides whether watch events that change only the primary's status trigger a pass. By default they do
// not when the controller reports, so that its own reports cannot bypass the back-off.
func StatusUpdates(on bool) Option { return func(c *config) { c.statusUpdates = &on } }

// Events switches Kubernetes Events on (the default) or off. Off needs no permission on events.k8s.io.
func Events(on bool) Option { return func(c *config) { c.events = on } }

// TransitionEvents switches the automatic Events for condition changes on (the default) or off. Events that handlers
// queue and the Warnings for failures stay.
func TransitionEvents(on bool) Option { return func(c *config) { c.transitionEvents = on } }

// EventNamespace is where Events about cluster-scoped objects are recorded; the default is "default".
func EventNamespace(namespace string) Option { return func(c *config) { c.eventNamespace = namespace } }

// EventBudget bounds how long the Events of one pass may take in total, and each request; the defaults are two seconds
// and one second.
func EventBudget(total, request time.Duration) Option {
	return func(c *config) { c.eventBudget, c.eventTimeout = total, request }
}

// Clock replaces the wall clock.
func Clock(passive clock.PassiveClock) Option { return func(c *config) { c.clock = passive } }

// HandleDeletion runs the handlers for objects that are being deleted too, for controllers with a finalizer. By
// default such objects are left alone.
func HandleDeletion() Option { return func(c *config) { c.withDeletion = true } }

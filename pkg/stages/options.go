package stages

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Option changes a default of a controller.
type Option func(*config)

type config struct {
	every, timeout            time.Duration
	eventBudget, eventTimeout time.Duration
	fieldOwner, annotation    string
	failureReason             string
	eventNamespace            string
	children                  client.Reader
	discovery                 Discoverer
	clock                     clock.PassiveClock
	owned                     []client.Object
	retired                   []string
	report, statusUpdates     *bool
	events, transitions       bool
	deletion                  bool
}

func defaults(name string) config {
	return config{
		timeout:        2 * time.Minute,
		eventBudget:    2 * time.Second,
		eventTimeout:   time.Second,
		fieldOwner:     name,
		annotation:     "stages.beyond10x.dev/applied",
		eventNamespace: metav1.NamespaceDefault,
		clock:          clock.RealClock{},
		events:         true,
		transitions:    true,
	}
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

// ChildReader is where Ensure reads the child to compare with; the default is the controller's client.
func ChildReader(r client.Reader) Option { return func(c *config) { c.children = r } }

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
func TransitionEvents(on bool) Option { return func(c *config) { c.transitions = on } }

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
func HandleDeletion() Option { return func(c *config) { c.deletion = true } }

// Discovery tells whether the API has a status subresource; a discovery client is one. SetupWithManager takes the
// manager's. Without it the controller assumes that there is one.
func Discovery(d Discoverer) Option { return func(c *config) { c.discovery = d } }

// Discoverer lists the resources of a group and version, subresources included.
type Discoverer interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

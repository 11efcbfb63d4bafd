package stages

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// SetupWithManager registers the controller: it watches the primary and the children named by [Owns], and backs off
// with [RateLimiter]. The extend functions may add watches of dependencies and further options.
func (c *Controller[T]) SetupWithManager(mgr manager.Manager, extend ...func(*builder.Builder)) error {
	if c.config.discovery == nil {
		d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("controller %q: %w", c.name, err)
		}
		c.config.discovery = d
	}
	b := builder.ControllerManagedBy(mgr).Named(c.name).
		For(newObject[T](), builder.WithPredicates(c.Predicate())).
		WithOptions(controller.Options{RateLimiter: RateLimiter()})
	for _, child := range c.config.owned {
		b.Owns(child)
	}
	for _, f := range extend {
		f(b)
	}
	return b.Complete(reconcile.AsReconciler(c.client, c))
}

// Predicate filters the watch of the primary: when the controller reports, updates that changed nothing but the status
// are ignored. Resyncs, which repeat a version, pass. [StatusUpdates] overrides it.
func (c *Controller[T]) Predicate() predicate.Predicate {
	all := !c.reports
	if c.config.statusUpdates != nil {
		all = *c.config.statusUpdates
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return all || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() ||
			!equality.Semantic.DeepEqual(withoutStatus(e.ObjectOld), withoutStatus(e.ObjectNew))
	}}
}

// withoutStatus returns a shallow copy of obj without its status and the metadata that changes with it.
func withoutStatus(obj client.Object) client.Object {
	i, ok := statusField(reflect.TypeOf(obj))
	if !ok {
		return obj
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	shallow.Elem().Field(i).SetZero()
	stripped := shallow.Interface().(client.Object)
	stripped.SetResourceVersion("")
	stripped.SetGeneration(0) // Without a status subresource it counts status writes too.
	stripped.SetManagedFields(nil)
	return stripped
}

const (
	backoffBase = time.Second
	backoffCap  = time.Minute
)

// RateLimiter is the back-off of [Controller.SetupWithManager], for queues built by hand: one second after the first
// failure, doubled with each further one up to a minute, and shortened by up to a fifth so that objects that failed
// together do not retry together.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backoffBase, backoffCap)}
}

type jittered struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

func (j jittered) When(item reconcile.Request) time.Duration {
	d := j.TypedRateLimiter.When(item)
	return d - rand.N(d/5)
}

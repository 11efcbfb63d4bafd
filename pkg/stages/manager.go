package stages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// SetupWithManager registers the controller: it asks the API where the status goes ([Controller.Discover]), watches the
// primary and the children named by [Owns], and backs off with [RateLimiter]. The extend functions may add watches of
// dependencies, and options, which replace all others: name [RateLimiter] among them.
func (c *Controller[T]) SetupWithManager(mgr manager.Manager, extend ...func(*builder.Builder)) error {
	api, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err == nil {
		err = c.Discover(api)
	}
	if err != nil {
		return fmt.Errorf("controller %q: %w", c.name, err)
	}
	b := builder.ControllerManagedBy(mgr).Named(c.name).
		For(blank(*new(T)), builder.WithPredicates(c.Predicate())).
		WithOptions(controller.Options{RateLimiter: RateLimiter()})
	for _, child := range c.owned {
		b.Owns(child)
	}
	for _, f := range extend {
		f(b)
	}
	return b.Complete(reconcile.AsReconciler(c.client, c))
}

// Discover asks the API whether the status has a subresource. Without it a controller assumes so. It must be called
// before the first pass.
func (c *Controller[T]) Discover(api discovery.ServerResourcesInterface) error {
	gvk, err := c.client.GroupVersionKindFor(blank(*new(T)))
	if err != nil {
		return err
	}
	list, err := api.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if err != nil {
		return fmt.Errorf("discover the status subresource of %s: %w", gvk.GroupKind(), err)
	}
	c.subresource = slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && strings.HasSuffix(r.Name, "/status")
	})
	return nil
}

// Predicate filters the watch of the primary: when the controller reports, updates that changed nothing but the status
// are ignored. Resyncs, which repeat a version, pass, and so does every new generation, also one whose change the Go type
// does not show: people wait until it is observed. [StatusUpdates] overrides it.
func (c *Controller[T]) Predicate() predicate.Predicate {
	all := ptr.Deref(c.statusUpdates, !c.reports)
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return all || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() ||
			c.subresource && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!equality.Semantic.DeepEqual(withoutStatus(e.ObjectOld), withoutStatus(e.ObjectNew))
	}}
}

// withoutStatus returns a copy of obj without its status and the metadata that changes with it.
func withoutStatus(obj client.Object) client.Object {
	stripped := clone(obj)
	copyStatus(stripped, blank(obj))
	stripped.SetResourceVersion("")
	stripped.SetGeneration(0) // Without a status subresource it counts status writes too.
	stripped.SetManagedFields(nil)
	return stripped
}

// RateLimiter is the back-off of [Controller.SetupWithManager], for queues built by hand: one second after the first
// failure, doubled with each further one up to a minute, and shortened by up to a fifth so that objects that failed
// together do not retry together.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)}
}

type jittered struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

func (j jittered) When(item reconcile.Request) time.Duration {
	d := j.TypedRateLimiter.When(item)
	return d - rand.N(d/5)
}

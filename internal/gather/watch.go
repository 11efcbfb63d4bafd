package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Index is the cache index of agents by the objects that they refer to.
const Index = "loom.references"

// Watch wakes the agents that refer to an object when that object appears,
// changes or goes. It watches metadata only and keeps nothing of what it sees,
// so its memory does not grow with other people's objects (case A18). It is a
// source of controller-runtime.
type Watch struct {
	// Metadata lists and watches the objects.
	Metadata metadata.Interface
	// Agents finds the agents through Index.
	Agents client.Reader
	// Kind of the objects.
	Kind Kind
	// Namespaces to watch; empty means all.
	Namespaces []string
}

var resources = map[Kind]string{Secret: "secrets", ConfigMap: "configmaps", Claim: "persistentvolumeclaims"}

// Kinds lists the kinds that need a watch.
func Kinds() []Kind { return []Kind{Secret, ConfigMap, Claim} }

// String names the source in the logs.
func (w Watch) String() string { return fmt.Sprintf("references to %s", w.Kind) }

// Start begins to watch and returns. It ends with ctx.
func (w Watch) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	namespaces := w.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		go w.reflector(ctx, namespace, queue).RunWithContext(ctx)
	}
	return nil
}

func (w Watch) reflector(ctx context.Context, namespace string, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) *cache.Reflector {
	resource := w.Metadata.Resource(schema.GroupVersionResource{Version: corev1.SchemeGroupVersion.Version, Resource: resources[w.Kind]}).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options)
		},
	}
	wake := func(obj any) error {
		w.wake(ctx, obj, queue)
		return nil
	}
	// Despite its name this is client-go's store of callbacks: it keeps nothing.
	store := &cache.FakeCustomStore{
		AddFunc: wake, UpdateFunc: wake, DeleteFunc: wake,
		// What went while the watch was cut is not in the new list, so every
		// agent that refers to the kind looks for itself.
		ReplaceFunc: func([]any, string) error {
			w.enqueue(ctx, namespace, anyName, queue)
			return nil
		},
	}
	return cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, store, cache.ReflectorOptions{Name: w.String()})
}

func (w Watch) wake(ctx context.Context, obj any, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	changed, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	w.enqueue(ctx, changed.GetNamespace(), changed.GetName(), queue)
}

func (w Watch) enqueue(ctx context.Context, namespace, name string, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, request := range requests(ctx, w.Agents, namespace, Index, IndexKey(w.Kind, name)) {
		queue.Add(request)
	}
}

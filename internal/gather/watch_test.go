package gather_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

// world is an API server that serves metadata, agents that refer to its
// objects, and the queue that a Watch wakes them in.
type world struct {
	t        *testing.T
	metadata *metadatafake.FakeMetadataClient
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	watches  chan *watch.RaceFreeFakeWatcher

	mutex  sync.Mutex
	stored []*metav1.PartialObjectMetadata
	// old servers do not stream lists through a watch.
	old bool
}

func newWorld(t *testing.T, objects ...*metav1.PartialObjectMetadata) *world {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	w := &world{
		t: t, metadata: metadatafake.NewSimpleMetadataClient(scheme), watches: make(chan *watch.RaceFreeFakeWatcher, 10),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	w.store(objects...)
	w.metadata.PrependWatchReactor("*", w.watch)
	return w
}

func (w *world) store(objects ...*metav1.PartialObjectMetadata) {
	w.t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, object := range objects {
		require.NoError(w.t, w.metadata.Tracker().Add(object))
		w.stored = append(w.stored, object)
	}
}

// lose removes an object, and no watch tells of it.
func (w *world) lose(lost *metav1.PartialObjectMetadata) {
	w.t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	require.NoError(w.t, w.metadata.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, lost.Namespace, lost.Name))
	w.stored = slices.DeleteFunc(w.stored, func(object *metav1.PartialObjectMetadata) bool { return object == lost })
}

// watch starts a watch, with the list in front of it when that is asked for.
func (w *world) watch(action clientgotesting.Action) (bool, watch.Interface, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	options, fake := action.(clientgotesting.WatchActionImpl).ListOptions, watch.NewRaceFreeFake()
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		if w.old {
			return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
		}
		for _, object := range w.stored {
			if namespace := action.GetNamespace(); namespace == "" || namespace == object.Namespace {
				fake.Add(object)
			}
		}
		end := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		fake.Action(watch.Bookmark, end)
	}
	w.watches <- fake
	return true, fake, nil
}

// referring are the agents that refer to objects of a kind.
var referring = map[gather.Kind][]string{
	gather.Secret:    {"elsewhere/foreign", "n/first", "n/second", "n/third"},
	gather.ConfigMap: {"n/inputs"},
	gather.Claim:     {"n/claims"},
}

// start starts a Watch. Its first list wakes the agents that refer to the kind.
func (w *world) start(kind gather.Kind, namespaces ...string) {
	w.t.Helper()
	agents := newClient(w.t, interceptor.Funcs{},
		agent("n", "first", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "shared"}}),
		agent("n", "second", v1alpha1.LoomAgentSpec{SecretFiles: &v1alpha1.SecretFiles{Name: "shared"}}),
		agent("n", "third", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "other"}}),
		agent("n", "none", v1alpha1.LoomAgentSpec{}),
		agent("n", "claims", v1alpha1.LoomAgentSpec{Workspace: &v1alpha1.Workspace{ClaimName: new("shared")}}),
		agent("n", "inputs", v1alpha1.LoomAgentSpec{Schedule: &v1alpha1.ScheduleSpec{Input: &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "shared", Key: "k"}}}}),
		agent("elsewhere", "foreign", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "shared"}}),
	)
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(func() { cancel(); w.queue.ShutDown() })
	source := gather.Watch{Metadata: w.metadata, Agents: agents, Kind: kind, Namespaces: namespaces}
	require.NoError(w.t, source.Start(ctx, w.queue))
	var first []string
	for _, name := range referring[kind] {
		namespace, _, _ := strings.Cut(name, "/")
		if len(namespaces) == 0 || slices.Contains(namespaces, namespace) {
			first = append(first, name)
		}
	}
	assert.Equal(w.t, first, w.woken(len(first)))
}

func object(kind gather.Kind, namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1"},
	}
}

// watching returns the running watch.
func (w *world) watching() *watch.RaceFreeFakeWatcher {
	w.t.Helper()
	select {
	case fake := <-w.watches:
		return fake
	case <-time.After(20 * time.Second):
		require.Fail(w.t, "no watch was started")
		return nil
	}
}

// woken returns the next agents that were woken, ordered, as many as are asked for.
func (w *world) woken(count int) []string {
	w.t.Helper()
	deadline := time.AfterFunc(20*time.Second, w.queue.ShutDown)
	defer deadline.Stop()
	var names []string
	for range count {
		request, down := w.queue.Get()
		require.False(w.t, down, "only %v were woken", names)
		w.queue.Done(request)
		names = append(names, request.Namespace+"/"+request.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// A change of the Secret "other" ends each step: whoever was woken wrongly
// before shows up in front of its agent.
func TestWatchWakesExactlyTheAgentsThatNameTheObject(t *testing.T) {
	w := newWorld(t)
	w.start(gather.Secret)
	secrets := w.watching()
	shared := object(gather.Secret, "n", "shared")
	for _, change := range []func(){
		func() { secrets.Add(shared) },
		func() { secrets.Modify(shared) },
		func() { secrets.Delete(shared) },
	} {
		secrets.Modify(object(gather.Secret, "n", "unknown"))
		secrets.Modify(object(gather.Secret, "unknown", "shared"))
		change()
		assert.Equal(t, []string{"n/first", "n/second"}, w.woken(2))
		secrets.Modify(object(gather.Secret, "n", "other"))
		assert.Equal(t, []string{"n/third"}, w.woken(1))
	}
	assert.Zero(t, w.queue.Len())
}

func TestWatchTellsKindsApart(t *testing.T) {
	for kind, c := range map[gather.Kind]struct {
		resource string
		woken    []string
	}{
		gather.Secret:    {"secrets", []string{"n/first", "n/second"}},
		gather.ConfigMap: {"configmaps", []string{"n/inputs"}},
		gather.Claim:     {"persistentvolumeclaims", []string{"n/claims"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t)
			w.start(kind)
			w.watching().Add(object(kind, "n", "shared"))
			assert.Equal(t, c.woken, w.woken(len(c.woken)))
			for _, action := range w.metadata.Actions() {
				assert.Equal(t, c.resource, action.GetResource().Resource)
				assert.Equal(t, "v1", action.GetResource().Version)
				assert.Empty(t, action.GetNamespace())
			}
		})
	}
}

// What changed or went while the watch was cut shows in no event, and what went
// not even in the list that follows: every agent that refers to the kind looks
// for itself.
func TestWatchWakesForWhatVanishedWhileItWasCut(t *testing.T) {
	for name, old := range map[string]bool{"from a server that streams lists": false, "from a server that does not": true} {
		t.Run(name, func(t *testing.T) {
			lost := object(gather.Secret, "n", "other")
			w := newWorld(t, lost)
			w.old = old
			w.start(gather.Secret)

			secrets := w.watching()
			w.lose(lost)
			expired := apierrors.NewResourceExpired("too old").Status()
			secrets.Error(&expired)
			assert.Equal(t, referring[gather.Secret], w.woken(4))
			w.watching().Modify(object(gather.Secret, "n", "shared"))
			assert.Equal(t, []string{"n/first", "n/second"}, w.woken(2))
			assert.Zero(t, w.queue.Len())
		})
	}
}

func TestWatchKeepsToItsNamespaces(t *testing.T) {
	w := newWorld(t, object(gather.Secret, "n", "shared"), object(gather.Secret, "elsewhere", "shared"))
	w.start(gather.Secret, "n", "m")
	w.watching()
	w.watching()
	assert.Zero(t, w.queue.Len())
	namespaces := map[string]bool{}
	for _, action := range w.metadata.Actions() {
		namespaces[action.GetNamespace()] = true
	}
	assert.Equal(t, map[string]bool{"n": true, "m": true}, namespaces)
}

// Case A18: memory must not grow with other people's objects.
func TestWatchKeepsNothing(t *testing.T) {
	w := newWorld(t)
	w.start(gather.Secret)
	secrets := w.watching()
	var seen []weak.Pointer[metav1.PartialObjectMetadata]
	for range 10 {
		added := object(gather.Secret, "n", "shared")
		seen = append(seen, weak.Make(added))
		secrets.Add(added)
		w.woken(2)
	}
	secrets.Modify(object(gather.Secret, "n", "other")) // The last one may still be in a variable.
	w.woken(1)
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		runtime.GC()
		for i, pointer := range seen {
			assert.Nil(t, pointer.Value(), "object %d is kept", i)
		}
	}, 20*time.Second, 10*time.Millisecond)
}

// A cache that cannot answer wakes nobody, and tells the log.
func TestWatchOutlivesTheCache(t *testing.T) {
	broken := newClient(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("not synced")
		},
	})
	var logged []string
	logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	assert.Empty(t, gather.AgentsOf(broken)(log.IntoContext(t.Context(), logger), object(gather.Secret, "n", "shared")))
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "not synced")
}

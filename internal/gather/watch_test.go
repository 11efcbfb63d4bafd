package gather_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
}

// start starts a Watch of Secrets over agents that are each named after the
// Secret that they name.
func start(t *testing.T, kind gather.Kind, namespaces []string, objects ...*metav1.PartialObjectMetadata) *world {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	w := &world{
		t: t, metadata: metadatafake.NewSimpleMetadataClient(scheme), watches: make(chan *watch.RaceFreeFakeWatcher, 10),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	for _, object := range objects {
		require.NoError(t, w.metadata.Tracker().Add(object))
	}
	w.metadata.PrependWatchReactor("*", func(clientgotesting.Action) (bool, watch.Interface, error) {
		fake := watch.NewRaceFreeFake()
		w.watches <- fake
		return true, fake, nil
	})
	agents := newClient(t, interceptor.Funcs{},
		agent("n", "first", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "shared"}}),
		agent("n", "second", v1alpha1.LoomAgentSpec{SecretFiles: &v1alpha1.SecretFiles{Name: "shared"}}),
		agent("n", "third", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "other"}}),
		agent("n", "none", v1alpha1.LoomAgentSpec{}),
		agent("n", "claims", v1alpha1.LoomAgentSpec{Workspace: &v1alpha1.Workspace{ClaimName: new("shared")}}),
		agent("elsewhere", "foreign", v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "shared"}}),
	)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); w.queue.ShutDown() })
	source := gather.Watch{Metadata: w.metadata, Agents: agents, Kind: kind, Namespaces: namespaces}
	require.NoError(t, source.Start(ctx, w.queue))
	return w
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
	w := start(t, gather.Secret, nil)
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
	for kind, resource := range map[gather.Kind]string{gather.Secret: "secrets", gather.ConfigMap: "configmaps", gather.Claim: "persistentvolumeclaims"} {
		t.Run(string(kind), func(t *testing.T) {
			w := start(t, kind, nil)
			w.watching().Add(object(kind, "n", "shared"))
			switch kind {
			case gather.Secret:
				assert.Equal(t, []string{"n/first", "n/second"}, w.woken(2))
			case gather.Claim:
				assert.Equal(t, []string{"n/claims"}, w.woken(1))
			}
			for _, action := range w.metadata.Actions() {
				assert.Equal(t, resource, action.GetResource().Resource)
				assert.Equal(t, "v1", action.GetResource().Version)
				assert.Empty(t, action.GetNamespace())
			}
		})
	}
}

// What changed while no watch was running is found by the list that follows.
func TestWatchWakesAfterAList(t *testing.T) {
	w := start(t, gather.Secret, nil, object(gather.Secret, "n", "other"))
	assert.Equal(t, []string{"n/third"}, w.woken(1))

	secrets := w.watching()
	require.NoError(t, w.metadata.Tracker().Add(object(gather.Secret, "elsewhere", "shared")))
	expired := apierrors.NewResourceExpired("too old").Status()
	secrets.Error(&expired)
	assert.Equal(t, []string{"elsewhere/foreign", "n/third"}, w.woken(2))
	w.watching().Modify(object(gather.Secret, "n", "shared"))
	assert.Equal(t, []string{"n/first", "n/second"}, w.woken(2))
}

func TestWatchKeepsToItsNamespaces(t *testing.T) {
	w := start(t, gather.Secret, []string{"n", "m"}, object(gather.Secret, "n", "shared"), object(gather.Secret, "elsewhere", "shared"))
	w.watching()
	w.watching()
	assert.Equal(t, []string{"n/first", "n/second"}, w.woken(2))
	assert.Zero(t, w.queue.Len())
	namespaces := map[string]bool{}
	for _, action := range w.metadata.Actions() {
		namespaces[action.GetNamespace()] = true
	}
	assert.Equal(t, map[string]bool{"n": true, "m": true}, namespaces)
}

// Case A18: memory must not grow with other people's objects.
func TestWatchKeepsNothing(t *testing.T) {
	w := start(t, gather.Secret, nil)
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

// A cache that cannot answer wakes nobody and stops nothing.
func TestWatchOutlivesTheCache(t *testing.T) {
	broken := newClient(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("not synced")
		},
	})
	assert.Empty(t, gather.AgentsOf(broken)(t.Context(), object(gather.Secret, "n", "shared")))
}

package apply

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var owner = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "settings", UID: "uid-1"}}

// world is an API server, and a cache that shows what it has or nothing.
type world struct {
	*Applier
	server client.Client
	clock  *clocktesting.FakePassiveClock
	// blind says that the cache has seen nothing yet.
	blind bool
	// calls are the requests that reached the API server.
	calls []string
	// before may fail a request, or do something ahead of it.
	before func(verb string) error
}

func newWorld() *world {
	w := &world{clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))}
	counted := func(verb string, do func() error) error {
		w.calls = append(w.calls, verb)
		if w.before != nil {
			if err := w.before(verb); err != nil {
				return err
			}
		}
		return do()
	}
	w.server = fake.NewClientBuilder().WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return counted("get", func() error { return c.Get(ctx, key, obj, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return counted("create", func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return counted("patch", func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
	}).Build()
	w.Applier = New(cached{w.server, w}, w.server, "tests", "example.com/applied", w.clock)
	return w
}

// cached reads from the cache.
type cached struct {
	client.Client
	w *world
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if c.w.blind {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	defer func(before []string) { c.w.calls = before }(c.w.calls)
	return c.Client.Get(ctx, key, obj, opts...)
}

func (w *world) ensure(t *testing.T, value string) (int, error) {
	t.Helper()
	return w.Ensure(t.Context(), owner, &corev1.ConfigMap{Data: map[string]string{"value": value}})
}

// taken returns the requests since the last call.
func (w *world) taken() []string {
	defer func() { w.calls = nil }()
	return w.calls
}

func (w *world) stored(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	stored := &corev1.ConfigMap{}
	require.NoError(t, w.server.Get(t.Context(), client.ObjectKeyFromObject(owner), stored))
	w.taken()
	return stored
}

func TestWritesAreCounted(t *testing.T) {
	w := newWorld()
	for _, step := range []struct {
		what, value string
		writes      int
		calls       []string
	}{
		{"a create", "one", 1, []string{"create"}},
		{"nothing to do", "one", 0, nil},
		{"the first change moves the ownership of the fields too", "two", 2, []string{"get", "patch", "patch"}},
		{"a later change does not", "three", 1, []string{"get", "patch"}},
	} {
		writes, err := w.ensure(t, step.value)
		require.NoError(t, err, step.what)
		assert.Equal(t, step.writes, writes, step.what)
		assert.Equal(t, step.calls, w.taken(), step.what)
	}
}

// unmoved is an API server where admission undoes every change.
type unmoved struct{ client.Client }

func (u unmoved) Patch(ctx context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return u.Get(ctx, client.ObjectKeyFromObject(obj), obj)
}

func TestAnApplyThatChangesNothingIsNoWrite(t *testing.T) {
	w := newWorld()
	for _, value := range []string{"one", "two"} {
		_, err := w.ensure(t, value)
		require.NoError(t, err)
	}
	w.Applier = New(unmoved{w.server}, w.server, "tests", "example.com/applied", w.clock)
	writes, err := w.ensure(t, "three")
	require.NoError(t, err)
	assert.Zero(t, writes)
}

func TestAChildIsNotCreatedAgainBeforeTheCacheHasShownIt(t *testing.T) {
	w := newWorld()
	w.blind = true
	_, err := w.ensure(t, "one")
	require.NoError(t, err)
	w.taken()

	_, err = w.ensure(t, "one")
	assert.True(t, apierrors.IsConflict(err), err)
	assert.Empty(t, w.taken(), "the API server is not asked")

	w.blind = false
	_, err = w.ensure(t, "one")
	require.NoError(t, err)
	assert.Empty(t, w.taken())
}

func TestAChildThatWasSeenAndIsGoneIsCreatedAtOnce(t *testing.T) {
	w := newWorld()
	for range 2 {
		_, err := w.ensure(t, "one")
		require.NoError(t, err)
	}
	require.NoError(t, w.server.Delete(t.Context(), w.stored(t)))
	_, err := w.ensure(t, "one")
	require.NoError(t, err)
	assert.Equal(t, []string{"create"}, w.taken())
}

func TestACacheThatLagsForLongIsNotWaitedFor(t *testing.T) {
	w := newWorld()
	w.blind = true
	_, err := w.ensure(t, "one")
	require.NoError(t, err)
	before := w.stored(t)
	w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
	_, err = w.ensure(t, "one")
	require.NoError(t, err)
	assert.Equal(t, []string{"create", "get"}, w.taken(), "it is found past the cache")
	assert.Equal(t, before, w.stored(t))
}

func TestErrorsTellWhatIsInTheWay(t *testing.T) {
	going := metav1.Now()
	ours := *metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Secret"))
	for name, c := range map[string]struct {
		there metav1.ObjectMeta
		as    any
		text  string
	}{
		"nobody's object":   {metav1.ObjectMeta{}, new(*NotOwnedError), `controlled by nobody`},
		"somebody's object": {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "other", UID: "uid-2", Controller: new(true)}}}, new(*NotOwnedError), `controlled by Job "other" (UID uid-2)`},
		"an object that is going": {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ours}, DeletionTimestamp: &going, Finalizers: []string{"example.com/hold"}},
			new(*TerminatingError), `ConfigMap "settings" is being deleted. It is created again once it is gone.`},
		"somebody's object that is going": {metav1.ObjectMeta{DeletionTimestamp: &going, Finalizers: []string{"example.com/hold"}}, new(*NotOwnedError), `controlled by nobody`},
	} {
		t.Run(name, func(t *testing.T) {
			c.there.Namespace, c.there.Name = owner.Namespace, owner.Name
			w := newWorld()
			server := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{ObjectMeta: c.there}).Build()
			w.Applier = New(server, server, "tests", "example.com/applied", w.clock)
			writes, err := w.ensure(t, "one")
			assert.ErrorAs(t, err, c.as)
			assert.ErrorContains(t, err, c.text)
			assert.Zero(t, writes)
		})
	}
}

func TestAReadThatFailsIsThatError(t *testing.T) {
	w := newWorld()
	w.before = func(string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("no"))
	}
	_, err := w.ensure(t, "one")
	assert.True(t, apierrors.IsForbidden(err), err)
	assert.Empty(t, w.taken(), "nothing follows it")
}

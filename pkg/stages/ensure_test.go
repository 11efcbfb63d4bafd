package stages_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/apply"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// ensure runs one pass of a new process that ensures the child, and returns what Ensure said.
func (w *world) ensure(child client.Object, options ...stages.Option) error {
	return w.ensureWith(w.client, child, options...)
}

// ensureWith does so with another client.
func (w *world) ensureWith(api client.Client, child client.Object, options ...stages.Option) (err error) {
	_, _ = w.pass(w.buildFor(stages.For[*Settings]("settings", w.options(options...)...).Reconcile(func(ctx context.Context, p pass) error {
		err = p.Ensure(ctx, child)
		return err
	}), api))
	return err
}

func data(pairs ...string) *corev1.ConfigMap {
	child := &corev1.ConfigMap{Data: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		child.Data[pairs[i]] = pairs[i+1]
	}
	return child
}

func (w *world) child() *corev1.ConfigMap {
	child := &corev1.ConfigMap{}
	require.NoError(w.t, w.client.Get(w.t.Context(), key, child))
	return child
}

func TestEnsureTakesNameNamespaceAndOwnerFromThePrimary(t *testing.T) {
	w := newWorld(t)
	child := data("message", "hello")
	err := w.ensure(child)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"create": 1, "status": 1}, w.taken(), "one call creates")
	live := w.child()
	assert.Equal(t, map[string]string{"message": "hello"}, live.Data)
	assert.True(t, metav1.IsControlledBy(live, w.get()))
	assert.Equal(t, live.ResourceVersion, child.ResourceVersion, "the live object is handed back")
	assert.NotEmpty(t, live.Annotations["stages.beyond10x.dev/applied"])
}

func TestEnsureRefusesAChildOfAnotherController(t *testing.T) {
	yes, w := true, newWorld(t)
	err := w.ensure(foreign(&metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "other", Controller: &yes}))
	assert.ErrorContains(t, err, "already owned by another Deployment controller web")
	assert.Equal(t, map[string]int{"status": 1}, w.taken())
}

func TestEnsureWritesNothingWhenNothingWouldChange(t *testing.T) {
	w := newWorld(t)
	err := w.ensure(data("message", "hello"))
	require.NoError(t, err)
	// Others add what is theirs.
	live := w.child()
	live.Labels = map[string]string{"theirs": "yes"}
	live.Data["theirs"] = "too"
	require.NoError(t, w.client.Update(t.Context(), live))
	w.taken()

	child := data("message", "hello")
	err = w.ensure(child)
	require.NoError(t, err)
	assert.Empty(t, w.taken(), "not after a restart either")
	assert.Equal(t, "too", child.Data["theirs"], "the live object is handed back")
}

func TestEnsureAppliesWhatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		drift func(*corev1.ConfigMap)
		next  *corev1.ConfigMap
		want  map[string]string
	}{
		"a new value":            {nil, data("message", "bye", "extra", "1"), map[string]string{"message": "bye", "extra": "1"}},
		"a field that is gone":   {nil, data("message", "hello"), map[string]string{"message": "hello"}},
		"a value edited by hand": {func(live *corev1.ConfigMap) { live.Data["message"] = "edited" }, nil, map[string]string{"message": "hello", "extra": "1"}},
		"a value removed":        {func(live *corev1.ConfigMap) { delete(live.Data, "message") }, nil, map[string]string{"message": "hello", "extra": "1"}},
		"the mark removed":       {func(live *corev1.ConfigMap) { live.Annotations = nil }, nil, map[string]string{"message": "hello", "extra": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			err := w.ensure(data("message", "hello", "extra", "1"))
			require.NoError(t, err)
			if c.drift != nil {
				live := w.child()
				c.drift(live)
				require.NoError(t, w.client.Update(t.Context(), live))
			}
			if c.next == nil {
				c.next = data("message", "hello", "extra", "1")
			}
			w.taken()
			err = w.ensure(c.next.DeepCopy())
			require.NoError(t, err)
			assert.Equal(t, 1, w.taken()["apply"])
			assert.Equal(t, c.want, w.child().Data)
			err = w.ensure(c.next)
			require.NoError(t, err)
			assert.Zero(t, w.taken()["apply"], "the next pass has nothing to do")
		})
	}
}

func foreign(owner *metav1.OwnerReference) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}, Data: map[string]string{"precious": "yes"}}
	if owner != nil {
		obj.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return obj
}

func TestEnsureNeverTouchesAnObjectItDoesNotOwn(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		owner *metav1.OwnerReference
		want  string
	}{
		"owned by another": {&metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "other", Controller: &yes}, `controlled by Deployment "web" (UID other)`},
		"owned by nobody":  {nil, "controlled by nobody"},
		"owned by an earlier object of the same name": {&metav1.OwnerReference{APIVersion: groupVersion.String(), Kind: "Settings", Name: key.Name, UID: "uid-0", Controller: &yes},
			`controlled by Settings "settings" (UID uid-0)`},
	} {
		for seen, api := range map[string]func(client.Client) client.Client{"in the cache": same, "and the cache has not seen it": blind} {
			t.Run(name+" "+seen, func(t *testing.T) {
				w := newWorld(t, newSettings(), foreign(c.owner))
				before := w.child()
				err := w.ensureWith(api(w.client), data("message", "hello"))
				var refused *apply.NotOwnedError
				require.ErrorAs(t, err, &refused)
				assert.ErrorContains(t, err, c.want)
				assert.Equal(t, before, w.child())
				assert.Equal(t, "False/NotOwned", w.conditions()["Ready"])
			})
		}
	}
}

// cached is a client whose reads see nothing yet.
type cached struct{ client.Client }

func (cached) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
}

func blind(c client.Client) client.Client { return cached{c} }
func same(c client.Client) client.Client  { return c }

func TestEnsureFindsItsOwnChildThatTheCacheHasNotSeen(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.ensure(data("message", "hello")))
	w.taken()
	unchanged := w.child()
	require.NoError(t, w.ensureWith(blind(w.client), data("message", "hello")))
	assert.Equal(t, unchanged, w.child())
	require.NoError(t, w.ensureWith(blind(w.client), data("message", "bye")))
	assert.Equal(t, "bye", w.child().Data["message"])
}

func TestEnsureGivesUpWhenNoReaderShowsWhatIsInTheWay(t *testing.T) {
	w := newWorld(t, newSettings(), foreign(nil))
	c, err := stages.For[*Settings]("settings", w.options()...).Reconcile(func(ctx context.Context, p pass) error {
		return p.Ensure(ctx, data("message", "hello"))
	}).Build(blind(w.client), blind(w.client))
	require.NoError(t, err)
	result, err := w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, 200*time.Millisecond, result.RequeueAfter)
	assert.Equal(t, map[string]int{"create": 1}, w.taken())
}

func TestEnsureAppliesNoStatusAndNoDigestOfADigest(t *testing.T) {
	w := newWorld(t)
	service := func(annotations map[string]string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
		}
	}
	child := service(nil)
	err := w.ensure(child)
	require.NoError(t, err)
	assert.Empty(t, child.Status.LoadBalancer.Ingress)
	err = w.ensure(service(child.Annotations))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"create": 1, "status": 1}, w.taken(), "the digest is not part of what it is a digest of")
}

func TestEnsureKeepsEveryCharacter(t *testing.T) {
	const text = "\r\n\t \u007f\u0085 \u2028\u2029 \ufeff\ufffe\uffff 日本 \U0001f600 \\u2028 \"<&>\" \n"
	w := newWorld(t)
	require.NoError(t, w.ensure(data("message", "hello")))
	require.NoError(t, w.ensure(data("message", text)))
	assert.Equal(t, text, w.child().Data["message"], "applied")
	require.NoError(t, w.ensure(data("message", text)))
	assert.Equal(t, 1, w.taken()["apply"])

	require.NoError(t, w.client.Delete(t.Context(), w.child()))
	require.NoError(t, w.ensure(data("message", text)))
	assert.Equal(t, text, w.child().Data["message"], "created")
	w.taken()
	require.NoError(t, w.ensure(data("message", text)))
	assert.Empty(t, w.taken())
}

func TestEnsureOnAnOldReadRestartsThePass(t *testing.T) {
	w := newWorld(t)
	err := w.ensure(data("message", "hello"))
	require.NoError(t, err)
	raced := w.client
	reader := readHook{raced, func() {
		live := w.child()
		live.Labels = map[string]string{"raced": "yes"}
		require.NoError(t, raced.Update(t.Context(), live))
	}}
	c, err := stages.For[*Settings]("settings", w.options()...).Reconcile(func(ctx context.Context, p pass) error {
		err := p.Ensure(ctx, data("message", "bye"))
		assert.True(t, apierrors.IsConflict(err), err)
		return err
	}).Build(w.client, reader)
	require.NoError(t, err)
	result, err := w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, 200*time.Millisecond, result.RequeueAfter)
	assert.Equal(t, "hello", w.child().Data["message"])
}

// readHook runs a function after each read.
type readHook struct {
	client.Client
	after func()
}

func (r readHook) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	defer r.after()
	return r.Client.Get(ctx, key, obj, opts...)
}

func TestEnsureWaitsForAChildThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	held := data("message", "hello")
	held.Finalizers = []string{"examples.beyond10x.dev/hold"}
	err := w.ensure(held)
	require.NoError(t, err)
	require.NoError(t, w.client.Delete(t.Context(), w.child()))
	w.taken()
	err = w.ensure(data("message", "bye"))
	assert.True(t, stages.IsVerdict(err))
	assert.Equal(t, "False/ChildTerminating", w.conditions()["Ready"])
	assert.Zero(t, w.taken()["apply"])
}

func TestEnsureDoesNotFightAnAdmissionWebhook(t *testing.T) {
	w := newWorld(t)
	w.after = func(ctx context.Context, what string, obj client.Object) error {
		child, ok := obj.(*corev1.ConfigMap)
		if !ok || what != "create" && what != "apply" {
			return nil
		}
		child.Data["message"] = "changed by a webhook"
		return w.client.Update(ctx, child)
	}
	c := w.plain(func(ctx context.Context, p pass) error { return p.Ensure(ctx, data("message", "hello")) })
	rounds := func() map[string]int {
		w.taken()
		for range 3 {
			_, err := w.pass(c)
			require.NoError(t, err)
		}
		return w.taken()
	}
	assert.Equal(t, map[string]int{"create": 1, "update": 1, "status": 1}, rounds())
	for range 2 {
		live := w.child()
		live.Data["message"] = "edited by hand"
		require.NoError(t, w.client.Update(t.Context(), live))
		assert.Equal(t, 1, rounds()["apply"], "an edit is repaired, once")
		assert.Equal(t, "changed by a webhook", w.child().Data["message"])
	}
	w.after = nil
	live := w.child()
	live.Data["message"] = "edited by hand"
	require.NoError(t, w.client.Update(t.Context(), live))
	assert.Equal(t, 1, rounds()["apply"])
	assert.Equal(t, "hello", w.child().Data["message"])
}

func TestEnsureUsesTheConfiguredOwnerAndAnnotation(t *testing.T) {
	w := newWorld(t)
	options := []stages.Option{stages.FieldOwner("someone"), stages.AppliedAnnotation("example.com/applied")}
	require.NoError(t, w.ensure(data("message", "hello"), options...))
	assert.Contains(t, w.child().Annotations, "example.com/applied")
	assert.Equal(t, []string{"someone Update"}, managers(w.child()))
	require.NoError(t, w.ensure(data("message", "bye"), options...))
	assert.Equal(t, []string{"someone Apply"}, managers(w.child()), "an apply can remove what the create set")
}

func managers(obj client.Object) (found []string) {
	for _, entry := range obj.GetManagedFields() {
		found = append(found, entry.Manager+" "+string(entry.Operation))
	}
	return found
}

func TestEnsureReportsWhatTheAPIServerRefuses(t *testing.T) {
	for name, c := range map[string]struct{ there, refused string }{
		"a create":              {"", "create"},
		"an apply":              {"hello", "apply"},
		"the move of ownership": {"hello", "patch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.there != "" {
				require.NoError(t, w.ensure(data("message", c.there)))
			}
			w.before = func(_ context.Context, what string, _ client.Object) error {
				if what == c.refused {
					return errForbidden
				}
				return nil
			}
			err := w.ensure(data("message", "bye"))
			assert.ErrorIs(t, err, errForbidden)
			assert.ErrorContains(t, err, "ensure ConfigMap demo/settings")
			assert.Equal(t, "False/Forbidden", w.conditions()["Ready"])
		})
	}
}

func TestGetReadsLive(t *testing.T) {
	w := newWorld(t, newSettings(), foreign(nil))
	c, err := stages.For[*Settings]("settings", w.options()...).Reconcile(func(ctx context.Context, p pass) error {
		found := &corev1.ConfigMap{}
		err := p.Get(ctx, key, found)
		assert.Equal(t, "yes", found.Data["precious"])
		return err
	}).Build(blind(w.client), w.client)
	require.NoError(t, err)
	_, err = w.pass(c)
	require.NoError(t, err)
}

func TestEnsureRefusesAnObjectOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.plain(func(ctx context.Context, p pass) error {
		child := &corev1.ConfigMap{}
		require.NoError(t, p.Ensure(ctx, child))
		child.Data = map[string]string{"more": "x"}
		return p.Ensure(ctx, child)
	}))
	assert.ErrorContains(t, err, "build the child anew for each Ensure")
}

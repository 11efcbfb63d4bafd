package stages_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestSaveMarksBeforeTheStatus(t *testing.T) {
	obj := newSettings()
	obj.Annotations = map[string]string{"old": "1", "other": "kept"}
	w := newWorld(t, obj)
	var order []string
	w.before = func(_ context.Context, what string, _ client.Object) error { order = append(order, what); return nil }
	_, err := w.pass(w.chain([]handler{func(ctx context.Context, p pass) error {
		p.Object().Status.Checksum = "kept"
		p.Object().Annotations["new"] = "2"
		delete(p.Object().Annotations, "old")
		if err := p.Save(ctx); err != nil {
			return err
		}
		assert.Equal(t, map[string]string{"new": "2", "other": "kept"}, w.get().Annotations)
		p.Object().Annotations["late"] = "lost"
		return errSecret
	}}))
	require.Error(t, err)
	assert.Equal(t, []string{"patch", "status"}, order)
	assert.Equal(t, map[string]string{"new": "2", "other": "kept"}, w.get().Annotations)
	assert.Equal(t, "kept", w.get().Status.Checksum)
}

func TestAPassWaitsForTheCacheToSeeTheOwnMark(t *testing.T) {
	w := newWorld(t)
	old, calls := w.get(), 0
	c := w.plain(func(ctx context.Context, p pass) error {
		calls++
		p.Object().Annotations = map[string]string{"new": "1"}
		return p.Save(ctx)
	}, stages.ReportStatus(false))
	for range 2 {
		_, err := c.Reconcile(w.context(), old)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, calls)
}

func TestASaveOnAnOldReadRestartsThePass(t *testing.T) {
	w := newWorld(t)
	old, obj := w.get(), w.get()
	obj.Labels = map[string]string{"somebody": "else"}
	require.NoError(t, w.client.Update(t.Context(), obj))
	result, err := w.plain(func(ctx context.Context, p pass) error {
		p.Object().Annotations = map[string]string{"new": "1"}
		return p.Save(ctx)
	}).Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, 200*time.Millisecond, result.RequeueAfter)
	assert.Empty(t, w.get().Annotations)
}

func TestAModifiedPrimaryIsSavedAfterSuccess(t *testing.T) {
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...)
	b.Root().Otherwise(func(ctx context.Context, p pass) error {
		p.Object().Labels = map[string]string{"saved": "yes"}
		p.Object().Status.Checksum = "reported"
		return p.Save(ctx)
	})
	_, err := w.pass(w.build(b))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"patch": 1, "status": 1}, w.taken())
	assert.Equal(t, map[string]string{"saved": "yes"}, w.get().Labels)
	assert.Equal(t, "reported", w.get().Status.Checksum)
	assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])

	_, err = w.pass(w.build(b))
	require.NoError(t, err)
	assert.Empty(t, w.taken(), "nothing to save the second time")
}

func TestASaveLeavesTheStatusAlone(t *testing.T) {
	w := newWorldWithoutSubresource(t)
	c := w.plain(func(ctx context.Context, p pass) error {
		p.Object().Labels = map[string]string{"saved": "yes"}
		p.Object().Status.Checksum = "staged"
		err := p.Save(ctx)
		assert.Equal(t, map[string]string{"saved": "yes"}, w.get().Labels)
		assert.Empty(t, w.get().Status.Checksum, "the status is written at the end")
		return err
	})
	require.NoError(t, c.Discover(&resources{names: []string{"settings"}}))
	_, err := w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"patch": 2}, w.taken())
	assert.Equal(t, "staged", w.get().Status.Checksum)
	assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])
}

func TestASaveThatFailsFailsThePass(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		ready string
	}{
		"refused":  {errForbidden, "False/Forbidden"},
		"conflict": {errStale, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.before = func(_ context.Context, what string, _ client.Object) error {
				if what == "patch" {
					return c.err
				}
				return nil
			}
			_, err := w.pass(w.plain(func(ctx context.Context, p pass) error {
				p.Object().Labels = map[string]string{"a": "b"}
				return p.Save(ctx)
			}))
			assert.Equal(t, name == "refused", err != nil)
			assert.Equal(t, c.ready, w.conditions()["Ready"])
		})
	}
}

func TestAPassGoesOnWithWhatTheAPIServerMadeOfASave(t *testing.T) {
	w := newWorld(t)
	w.after = func(ctx context.Context, what string, obj client.Object) error {
		w.after = nil
		obj.SetAnnotations(map[string]string{"admitted": "yes"})
		return w.client.Update(ctx, obj)
	}
	_, err := w.pass(w.plain(func(ctx context.Context, p pass) error {
		p.Object().Status.Checksum = "staged"
		p.Object().Labels = map[string]string{"saved": "once"}
		require.NoError(t, p.Save(ctx))
		assert.Equal(t, map[string]string{"admitted": "yes"}, p.Object().Annotations)
		assert.Equal(t, "staged", p.Object().Status.Checksum)
		w.taken()
		require.NoError(t, p.Save(ctx))
		assert.Empty(t, w.taken(), "nothing was edited")
		p.Object().Labels["saved"] = "twice"
		return p.Save(ctx)
	}))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"patch": 1, "status": 1}, w.taken())
	assert.Equal(t, map[string]string{"admitted": "yes"}, w.get().Annotations)
	assert.Equal(t, map[string]string{"saved": "twice"}, w.get().Labels)
	assert.Equal(t, "staged", w.get().Status.Checksum)
}

func TestASaveUsesTheConfiguredOwner(t *testing.T) {
	w := newWorld(t, foreign(nil))
	c, err := stages.For[*corev1.ConfigMap]("maps", w.options(stages.FieldOwner("someone"))...).Reconcile(func(ctx context.Context, p *stages.Pass[*corev1.ConfigMap]) error {
		p.Object().Data["saved"] = "yes"
		return p.Save(ctx)
	}).Build(w.client, w.client)
	require.NoError(t, err)
	_, err = c.Reconcile(w.context(), w.child())
	require.NoError(t, err)
	assert.Contains(t, managers(w.child()), "someone Update")
}

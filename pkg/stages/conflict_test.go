package stages_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestAStaleReadRestartsQuietly(t *testing.T) {
	w := newWorld(t)
	result, err := w.pass(w.chain([]handler{give(fmt.Errorf("apply: %w", errStale))}))
	require.NoError(t, err)
	assert.Equal(t, 200*time.Millisecond, result.RequeueAfter)
	assert.Empty(t, w.taken())
	assert.Empty(t, w.errors)
}

func TestAConflictRestartsQuietly(t *testing.T) {
	w := newWorld(t)
	old := w.get()
	obj := w.get()
	obj.Labels = map[string]string{"somebody": "else"}
	require.NoError(t, w.client.Update(t.Context(), obj))
	w.taken()
	calls := 0
	c := w.plain(func(context.Context, pass) error { calls++; return errSecret }, stages.Events(true))

	result, err := c.Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
	assert.Empty(t, w.errors)
	assert.Equal(t, map[string]int{"status": 1}, w.taken(), "one attempt, no Events")

	_, err = w.pass(c)
	require.Error(t, err)
	assert.Equal(t, 2, calls, "the whole reconcile runs again")
	assert.Equal(t, "False/Error", w.conditions()["Ready"])
}

func TestAConflictRestartsQuietlyWithoutASubresourceToo(t *testing.T) {
	w := newWorldWithoutSubresource(t)
	old, obj := w.get(), w.get()
	obj.Labels = map[string]string{"somebody": "else"}
	require.NoError(t, w.client.Update(t.Context(), obj))
	c := w.plain(succeed)
	require.NoError(t, c.Discover(&resources{names: []string{"settings"}}))
	result, err := c.Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
	assert.Empty(t, w.conditions())
}

// What answers with a conflict again and again is not a cache that lags.
func TestALastingConflictIsReportedAndBacksOff(t *testing.T) {
	w := newWorld(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "settings", errSecret)
	refusal := error(conflict)
	c := w.plain(func(context.Context, pass) error { return refusal })
	quietly := func() {
		t.Helper()
		for range 50 {
			w.clock.Step(time.Second)
			result, err := w.pass(c)
			require.NoError(t, err)
			require.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
		}
		assert.Empty(t, w.taken())
	}
	quietly()
	for range 2 {
		_, err := w.pass(c)
		require.ErrorIs(t, err, refusal, "the queue backs off")
	}
	assert.Equal(t, map[string]string{"Ready": "False/Conflict"}, w.conditions())
	assert.Equal(t, map[string]int{"status": 1}, w.taken())

	refusal = nil
	_, err := w.pass(c)
	require.NoError(t, err)
	w.taken()
	refusal = conflict
	quietly()
}

func TestALastingConflictOfTheStatusWriteIsReportedAndBacksOff(t *testing.T) {
	w := newWorld(t)
	refusal := error(errStale)
	w.before = func(context.Context, string, client.Object) error { return refusal }
	c := w.plain(succeed)
	quietly := func() {
		t.Helper()
		for range 50 {
			result, err := w.pass(c)
			require.NoError(t, err)
			require.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
		}
	}
	quietly()
	for range 2 {
		_, err := w.pass(c)
		require.ErrorIs(t, err, refusal, "the queue backs off")
	}

	refusal = nil
	_, err := w.pass(c)
	require.NoError(t, err)
	obj := w.get()
	obj.Status = SettingsStatus{}
	require.NoError(t, w.client.Status().Update(t.Context(), obj))
	refusal = errStale
	quietly()
}

func TestTwoOwnersOfOneFieldAreAFailure(t *testing.T) {
	w := newWorld(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "x", errSecret)
	conflict.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}
	_, err := w.pass(w.plain(give(conflict)))
	require.Error(t, err, "no new pass resolves it")
	assert.Equal(t, "False/Conflict", w.conditions()["Ready"])
}

package children_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

func wanted() *corev1.ConfigMap {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"key": "value"}}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return config
}

func ensure(ctx context.Context, pass *journal.Pass) error {
	return children.Ensure(ctx, pass, wanted())
}

func TestEnsureWritesTheChild(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.pass(ensure)
	require.NoError(t, err)
	found := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "config"}, found))
	assert.Equal(t, map[string]string{"key": "value"}, found.Data)
	assert.True(t, metav1.IsControlledBy(found, w.agent()))
}

func TestEnsureOfNoChild(t *testing.T) {
	w := newWorld(t)
	w.fail = errors.New("nothing must be written")
	handled, _, err := w.pass(func(ctx context.Context, pass *journal.Pass) error {
		var policy *networkingv1.NetworkPolicy
		return children.Ensure(ctx, pass, policy)
	})
	require.NoError(t, handled)
	require.NoError(t, err)
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

func TestEnsureExplainsErrors(t *testing.T) {
	forbidden := apierrors.NewForbidden(configMaps, "config", errors.New("exceeded quota: small"))
	denied := apierrors.NewForbidden(configMaps, "config", nil)
	denied.ErrStatus.Message = "admission webhook \"w\" denied the request: Not here.\n"
	policy := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "config", nil)
	policy.ErrStatus.Message = "ValidatingAdmissionPolicy 'p' denied request: no"
	webhook := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: `admission webhook "w" denied the request: no`}}
	}
	for name, c := range map[string]struct {
		err      error
		ready    string
		message  string
		terminal bool
	}{
		"forbidden": {
			forbidden, "False/ChildForbidden",
			`The API server does not let the operator write ConfigMap "config": configmaps "config" is forbidden: exceeded quota: small. It is tried again; change the role, quota or policy that the text names.`, false,
		},
		"forbidden in a sentence": {
			denied, "False/ChildForbidden",
			`The API server does not let the operator write ConfigMap "config": admission webhook "w" denied the request: Not here. It is tried again; change the role, quota or policy that the text names.`, false,
		},
		"invalid": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "config", nil), "False/ChildInvalid",
			`The API server refuses ConfigMap "config" as invalid: ConfigMap "config" is invalid. Correct the field of the document that it comes from.`, true,
		},
		"a bad request": {
			apierrors.NewBadRequest("unknown field"), "False/ChildInvalid",
			`The API server refuses ConfigMap "config" as invalid: unknown field. Correct the field of the document that it comes from.`, true,
		},
		"a policy, which answers as if the object were invalid": {
			policy, "False/ChildForbidden",
			`The API server does not let the operator write ConfigMap "config": ValidatingAdmissionPolicy 'p' denied request: no. It is tried again; change the role, quota or policy that the text names.`, false,
		},
		"a webhook that gives no code, which the API server takes for a bad request": {
			webhook(http.StatusBadRequest), "False/ChildForbidden",
			`The API server does not let the operator write ConfigMap "config": admission webhook "w" denied the request: no. It is tried again; change the role, quota or policy that the text names.`, false,
		},
		"a webhook that answers as if the object were invalid": {
			webhook(http.StatusUnprocessableEntity), "False/ChildForbidden",
			`The API server does not let the operator write ConfigMap "config": admission webhook "w" denied the request: no. It is tried again; change the role, quota or policy that the text names.`, false,
		},
		"a bad request that names a webhook in passing": {
			apierrors.NewBadRequest(`unknown field "admission webhook \"w\" denied the request"`), "False/ChildInvalid",
			`The API server refuses ConfigMap "config" as invalid: unknown field "admission webhook \"w\" denied the request". Correct the field of the document that it comes from.`, true,
		},
		"an answer that is none of the API server's": {
			errors.New("dial tcp 10.0.0.1:6443: connection refused"), "False/ReconcileError",
			`The operator could not write ConfigMap "config": the API server gave no answer. It is tried again with growing delays.`, false,
		},
		"any other": {
			apierrors.NewInternalError(errors.New("etcd")), "False/ReconcileError",
			`The operator could not write ConfigMap "config": Internal error occurred: etcd. It is tried again with growing delays.`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fail = c.err
			handled, _, err := w.pass(ensure)
			require.ErrorIs(t, err, c.err)
			assert.ErrorContains(t, handled, `ConfigMap "config"`)
			assert.Equal(t, c.terminal, errors.Is(err, reconcile.TerminalError(nil)))
			ready, message := w.ready()
			assert.Equal(t, c.ready, ready)
			assert.Equal(t, c.message, message)
		})
	}
}

// A conflict restarts the pass, which must therefore be able to see it.
func TestEnsureLeavesAConflictAlone(t *testing.T) {
	w := newWorld(t, child(wanted(), "config", "agent"))
	w.fail = apierrors.NewConflict(configMaps, "config", errors.New("changed"))
	handled, result, err := w.pass(ensure)
	require.NoError(t, err)
	assert.True(t, apierrors.IsConflict(handled))
	assert.Positive(t, result.RequeueAfter)
	assert.Empty(t, w.agent().Status.Conditions)
}

func TestEnsureTouchesNoForeignObject(t *testing.T) {
	for name, c := range map[string]struct {
		existing *corev1.ConfigMap
		message  string
	}{
		"of another controller": {
			child(&corev1.ConfigMap{}, "config", "other"),
			`ConfigMap "config" exists already and it is controlled by Boss "boss" (UID other). It is left alone; delete or rename it, and the agent goes on without an edit.`,
		},
		"of nobody": {
			child(&corev1.ConfigMap{}, "config", ""),
			`ConfigMap "config" exists already and nobody controls it. It is left alone; delete or rename it, and the agent goes on without an edit.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.existing)
			handled, result, err := w.pass(ensure)
			require.NoError(t, err)
			assert.True(t, stages.IsVerdict(handled))
			assert.Equal(t, stages.DefaultWait, result.RequeueAfter)
			ready, message := w.ready()
			assert.Equal(t, "False/NameTaken", ready)
			assert.Equal(t, c.message, message)
			found := &corev1.ConfigMap{}
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(c.existing), found))
			assert.Empty(t, found.Data)
		})
	}
}

func TestEnsureWaitsForAChildThatIsGoing(t *testing.T) {
	going := child(wanted(), "config", "agent")
	going.Finalizers, going.DeletionTimestamp = []string{"test/hold"}, &metav1.Time{Time: time.Now()}
	w := newWorld(t, going)
	handled, _, err := w.pass(ensure)
	require.NoError(t, err)
	assert.True(t, stages.IsVerdict(handled))
	ready, _ := w.ready()
	assert.Equal(t, "False/ChildTerminating", ready)
}

func TestExplainLeavesAlone(t *testing.T) {
	conflict := apierrors.NewConflict(configMaps, "config", errors.New("changed"))
	for name, err := range map[string]error{
		"no error":           nil,
		"a conflict":         conflict,
		"a wait":             stages.Wait("ChildTerminating", "It is being deleted.", 0),
		"a wrapped wait":     fmt.Errorf("ensure Job: %w", stages.Wait("ChildTerminating", "It is being deleted.", 0)),
		"a stop":             stages.Stop("Refused", "It is refused."),
		"a wrapped conflict": fmt.Errorf("ensure Job: %w", conflict),
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, err, children.Explain(err, "write", "Job", "j")) })
	}
}

func TestServerText(t *testing.T) {
	assert.Equal(t, `configmaps "c" not found`, children.ServerText(apierrors.NewNotFound(configMaps, "c")))
	assert.Equal(t, "the API server gave no answer", children.ServerText(errors.New("dial tcp 10.0.0.1:6443: connection refused")))
	assert.Equal(t, "the API server gave no answer", children.ServerText(&apierrors.StatusError{}))
}

func TestController(t *testing.T) {
	assert.Equal(t, `Boss "boss" (UID other)`, children.Controller(child(&corev1.Pod{}, "p", "other")))
	assert.Empty(t, children.Controller(child(&corev1.Pod{}, "p", "")))
}

func TestPresent(t *testing.T) {
	var policy *networkingv1.NetworkPolicy
	config, deployment := wanted(), &appsv1.Deployment{}
	assert.Equal(t, []client.Object{config, deployment}, children.Present(policy, config, deployment))
	assert.Empty(t, children.Present())
}

package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
)

func admit(_ context.Context, pass *journal.Pass) error { return intake.Admit(pass) }

func TestAcceptedDocument(t *testing.T) {
	w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
	_, err := w.pass()
	require.NoError(t, err)
	verdict, message := w.condition(v1alpha1.ConditionChecked)
	assert.Equal(t, "True/Accepted", verdict)
	assert.Equal(t, "The check accepted the document.", message)
	assert.Equal(t, 1, w.worked)
	assert.Equal(t, v1alpha1.StatePending, w.agent().Status.State, "nothing has admitted it")
	assert.Nil(t, w.agent().Status.Check)
	assert.Empty(t, w.childWrites)
}

func TestAdmitOnce(t *testing.T) {
	w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
	w.work = func(ctx context.Context, pass *journal.Pass) error {
		require.NoError(t, admit(ctx, pass))
		return admit(ctx, pass)
	}
	_, err := w.pass()
	require.NoError(t, err)
	status := w.agent().Status
	assert.Equal(t, v1alpha1.StateRunning, status.State)
	assert.Equal(t, v1alpha1.Command, status.Variant)
	assert.Equal(t, &v1alpha1.CheckResult{ExitCode: 0, Message: "The document was accepted."}, status.Check)
	assert.Equal(t, 1, w.statusWrites)
	assert.Empty(t, w.events, "an accepted document is told by the status (docs/decisions/0010)")

	_, err = w.pass()
	require.NoError(t, err)
	assert.Zero(t, w.statusWrites)
	assert.Empty(t, w.events)
}

func TestRefusedDocumentLeavesNothingRunning(t *testing.T) {
	w := newWorld(t, bad(v1alpha1.LoomAgentStatus{}), estate()...)
	result, err := w.pass()
	require.NoError(t, err)
	assert.Zero(t, result)
	assert.Equal(t, []string{"policy"}, w.left())
	assert.Zero(t, w.worked)

	status := w.agent().Status
	assert.Equal(t, v1alpha1.StateRefused, status.State)
	assert.Equal(t, v1alpha1.AgentServe, status.Variant)
	require.NotNil(t, status.Check)
	assert.Equal(t, int32(1), status.Check.ExitCode)
	for condition, want := range map[string]string{"Ready": "False/Refused", "Checked": "False/Refused", "Stalled": "True/Refused", "Synced": "True/ReconcileSuccess"} {
		verdict, message := w.condition(condition)
		assert.Equal(t, want, verdict)
		assert.Equal(t, condition != "Synced", message == status.Check.Message)
	}
	assert.True(t, w.sent("Warning LoomAgentRefused"))

	_, err = w.pass()
	require.NoError(t, err)
	assert.Zero(t, w.statusWrites)
	assert.Empty(t, w.childWrites)
}

// The findings are what the person needs; that pods are still ending is not.
func TestRefusalIsToldWhilePodsEnd(t *testing.T) {
	objects := estate()
	objects[0].SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	objects[0].SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	w := newWorld(t, bad(v1alpha1.LoomAgentStatus{}), objects...)
	_, err := w.pass()
	require.NoError(t, err)
	verdict, _ := w.condition("Ready")
	assert.Equal(t, "False/Refused", verdict)
	assert.Equal(t, []string{"policy"}, w.left())
}

func TestGuardrailOfARefusedDocument(t *testing.T) {
	agent := bad(v1alpha1.LoomAgentStatus{})
	agent.Spec.Boundary = &v1alpha1.Boundary{}

	t.Run("is written", func(t *testing.T) {
		w := newWorld(t, agent.DeepCopy(), estate()...)
		_, err := w.pass()
		require.NoError(t, err)
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, &networkingv1.NetworkPolicy{}))
	})
	t.Run("keeps nothing running when it cannot be written", func(t *testing.T) {
		w := newWorld(t, agent.DeepCopy(), estate()...)
		w.create = apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "a", errBroken)
		_, err := w.pass()
		require.ErrorIs(t, err, w.create)
		assert.Equal(t, []string{"policy"}, w.left())
		assert.Equal(t, v1alpha1.StateRefused, w.agent().Status.State)
		verdict, _ := w.condition("Ready")
		assert.Equal(t, "False/ChildForbidden", verdict)
	})
	t.Run("does not hide the findings when its name is taken", func(t *testing.T) {
		foreign := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
		w := newWorld(t, agent.DeepCopy(), append(estate(), foreign)...)
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, []string{"policy"}, w.left())
		verdict, _ := w.condition("Ready")
		assert.Equal(t, "False/Refused", verdict)
	})
}

// The guardrail is there before anything can run, whatever holds the agent up
// later (design section 8).
func TestGuardrailOfAnAcceptedDocument(t *testing.T) {
	confined := func() *v1alpha1.LoomAgent {
		agent := good(v1alpha1.LoomAgentStatus{})
		agent.Spec.Boundary = &v1alpha1.Boundary{}
		return agent
	}
	exists := func(w *world) bool {
		return w.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, &networkingv1.NetworkPolicy{}) == nil
	}

	t.Run("is written before the workload's stage", func(t *testing.T) {
		w := newWorld(t, confined())
		w.work = func(context.Context, *journal.Pass) error {
			assert.True(t, exists(w))
			return nil
		}
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, 1, w.worked)
		assert.Equal(t, []string{"create"}, w.childWrites)

		_, err = w.pass()
		require.NoError(t, err)
		assert.Empty(t, w.childWrites)
	})
	t.Run("is written while a reference is missing", func(t *testing.T) {
		agent := confined()
		agent.Spec.SecretRef = &v1alpha1.SecretRef{Name: "none"}
		w := newWorld(t, agent)
		_, err := w.pass()
		require.NoError(t, err)
		assert.Zero(t, w.worked)
		assert.True(t, exists(w))
	})
	t.Run("keeps the workload from being written when it cannot be", func(t *testing.T) {
		w := newWorld(t, confined())
		w.create = apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "a", errBroken)
		_, err := w.pass()
		require.ErrorIs(t, err, w.create)
		assert.Zero(t, w.worked)
		verdict, _ := w.condition(v1alpha1.ConditionChecked)
		assert.Equal(t, "False/ChildForbidden", verdict)
	})
	t.Run("is left alone while the agent is paused", func(t *testing.T) {
		agent := confined()
		agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
		w := newWorld(t, agent)
		_, err := w.pass()
		require.NoError(t, err)
		assert.Empty(t, w.childWrites)
		assert.False(t, exists(w))
	})
}

func TestPausedAgentThatIsRefusedIsLeftAlone(t *testing.T) {
	agent := bad(v1alpha1.LoomAgentStatus{})
	agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	agent.Spec.Boundary = &v1alpha1.Boundary{}
	w := newWorld(t, agent, estate()...)
	_, err := w.pass()
	require.NoError(t, err)
	assert.Empty(t, w.childWrites)
	assert.Equal(t, []string{"deployment", "config", "service", "policy"}, w.left())
	assert.Equal(t, v1alpha1.StateRefused, w.agent().Status.State)
	verdict, message := w.condition("Ready")
	assert.Equal(t, "False/Refused", verdict)
	assert.Contains(t, message, "The agent is paused, so its children stay as they are.")
}

// The verdict on a generation is given once, whatever a later version of the
// operator would say.
func TestVerdictIsKept(t *testing.T) {
	judged := func(state v1alpha1.AgentState, exitCode int32, message string) v1alpha1.LoomAgentStatus {
		return v1alpha1.LoomAgentStatus{ObservedGeneration: 1, State: state, Check: &v1alpha1.CheckResult{ExitCode: exitCode, Message: message}}
	}
	t.Run("what was accepted runs on", func(t *testing.T) {
		w := newWorld(t, bad(judged(v1alpha1.StateRunning, 0, "Fine.")), estate()...)
		w.work = admit
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, 1, w.worked)
		assert.Empty(t, w.childWrites)
		assert.Empty(t, w.events)
		assert.Equal(t, v1alpha1.StateRunning, w.agent().Status.State)
		assert.Equal(t, "Fine.", w.agent().Status.Check.Message)
	})
	t.Run("a run that was started goes on when a backup tool wiped the verdict", func(t *testing.T) {
		agent := good(v1alpha1.LoomAgentStatus{})
		agent.Spec.Image = &v1alpha1.ImageRef{Repository: "No Image"}
		agent.Annotations = map[string]string{v1alpha1.RunAnnotation: guard.Start{UID: agent.UID, Generation: agent.Generation, Job: "j"}.String()}
		w := newWorld(t, agent, estate()...)
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, 1, w.worked)
		assert.Empty(t, w.childWrites)

		w.edit(func(agent *v1alpha1.LoomAgent) { agent.Spec.Image.Repository = "No Image Either" })
		_, err = w.pass()
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.StateRefused, w.agent().Status.State, "a start of another generation tells nothing")
	})
	t.Run("what was refused stays refused", func(t *testing.T) {
		w := newWorld(t, good(judged(v1alpha1.StateRefused, 1, "spec: Wrong.")))
		_, err := w.pass()
		require.NoError(t, err)
		assert.Zero(t, w.worked)
		_, message := w.condition("Checked")
		assert.Equal(t, "spec: Wrong.", message)
		assert.Empty(t, w.events)
	})
	t.Run("an edit is judged anew", func(t *testing.T) {
		w := newWorld(t, good(judged(v1alpha1.StateRunning, 0, "Fine.")), estate()...)
		w.edit(func(agent *v1alpha1.LoomAgent) { agent.Spec = v1alpha1.LoomAgentSpec{} })
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.StateRefused, w.agent().Status.State)
		assert.Equal(t, []string{"policy"}, w.left())
		w.edit(func(agent *v1alpha1.LoomAgent) { agent.Spec.Command = &v1alpha1.CommandSpec{} })
		_, err = w.pass()
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.StatePending, w.agent().Status.State)
		assert.Equal(t, 1, w.worked)
	})
	t.Run("the verdict in a backup is of another object", func(t *testing.T) {
		restored := judged(v1alpha1.StateRefused, 1, "spec: Wrong.")
		restored.ObservedGeneration = 7
		w := newWorld(t, good(restored))
		w.work = admit
		_, err := w.pass()
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.StateRunning, w.agent().Status.State)
		assert.Equal(t, int64(1), w.agent().Status.ObservedGeneration)
	})
}

func TestLoweredConfinementIsToldOnce(t *testing.T) {
	agent := good(v1alpha1.LoomAgentStatus{})
	agent.Spec.SeccompProfile = &v1alpha1.ConfinementProfile{Type: v1alpha1.ProfileUnconfined}
	w := newWorld(t, agent)
	w.work = admit
	_, err := w.pass()
	require.NoError(t, err)
	assert.True(t, w.sent("Warning ConfinementLowered spec.seccompProfile.type is Unconfined"))
	_, message := w.condition("Checked")
	assert.Contains(t, message, "The check accepted the document. spec.seccompProfile.type is Unconfined")

	w.start()
	_, err = w.pass()
	require.NoError(t, err)
	assert.Empty(t, w.events)
	assert.Zero(t, w.statusWrites, "the condition goes on to tell it")
}

package intake_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

const canary = "canary-of-a-secret"

// naming is an agent whose document names a Secret.
func naming(status v1alpha1.LoomAgentStatus) *v1alpha1.LoomAgent {
	agent := good(status)
	agent.Spec.SecretRef = &v1alpha1.SecretRef{Name: "keys"}
	return agent
}

func keys() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "keys", UID: "keys"}, Data: map[string][]byte{"K": []byte(canary)}}
}

func TestInputOfTheWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		agent    *v1alpha1.LoomAgent
		message  string
		digested bool
	}{
		"without references": {good(v1alpha1.LoomAgentStatus{}), "The document refers to no other object.", false},
		"with references":    {naming(v1alpha1.LoomAgentStatus{}), "Every object that the document names exists.", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.agent, keys())
			var input workload.Input
			w.work = func(_ context.Context, pass *journal.Pass) error {
				input = intake.Intake{DefaultImage: image}.Input(pass)
				assert.Same(t, pass.Object(), input.Agent)
				return nil
			}
			_, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, image, input.DefaultImage)
			assert.Equal(t, c.digested, input.ReferencesDigest != "")
			verdict, message := w.condition(v1alpha1.ConditionReferencesResolved)
			assert.Equal(t, "True/Resolved", verdict)
			assert.Equal(t, c.message, message)
			assert.Zero(t, w.watched)
		})
	}
}

// A person who stops an agent whose Secret is gone must be able to.
func TestRestingAgentWaitsForNoReference(t *testing.T) {
	for name, rest := range map[string]func(*v1alpha1.LoomAgentSpec){
		"the whole agent rests": func(spec *v1alpha1.LoomAgentSpec) { spec.Suspend = new(true) },
		"the schedule rests": func(spec *v1alpha1.LoomAgentSpec) {
			spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "@daily", Suspend: new(true)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			agent := naming(v1alpha1.LoomAgentStatus{})
			rest(&agent.Spec)
			w := newWorld(t, agent)
			_, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, 1, w.worked)
			verdict, message := w.condition(v1alpha1.ConditionReferencesResolved)
			assert.Equal(t, "True/Suspended", verdict)
			assert.Contains(t, message, `The agent rests, so this is not waited for: Secret "keys", named by spec.secretRef, was not found`)

			w.read = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "keys", nil)
			_, err = w.pass()
			require.NoError(t, err)
			assert.Equal(t, 1, w.worked, "nor for one that cannot be read")
		})
	}
}

func TestPausedAgentThatWaitsSaysBoth(t *testing.T) {
	agent := naming(v1alpha1.LoomAgentStatus{})
	agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	w := newWorld(t, agent)
	_, err := w.pass()
	require.NoError(t, err)
	verdict, message := w.condition("Ready")
	assert.Equal(t, "False/ReferenceMissing", verdict)
	assert.Contains(t, message, "the agent goes on without an edit. The agent is paused, so its children stay as they are.")
}

func TestMissingReferenceIsWaitedFor(t *testing.T) {
	w := newWorld(t, naming(v1alpha1.LoomAgentStatus{}))
	w.work = admit
	result, err := w.pass()
	require.NoError(t, err)
	assert.Equal(t, stages.DefaultWait, result.RequeueAfter)
	assert.Zero(t, w.worked)
	assert.Equal(t, 1, w.watched)
	const want = `Secret "keys", named by spec.secretRef, was not found in namespace "n". Create it; the agent goes on without an edit.`
	for _, condition := range []string{"Ready", v1alpha1.ConditionReferencesResolved} {
		verdict, message := w.condition(condition)
		assert.Equal(t, "False/ReferenceMissing", verdict)
		assert.Equal(t, want, message)
	}
	assert.Equal(t, v1alpha1.StatePending, w.agent().Status.State)
	assert.Nil(t, w.agent().Status.Check)
	assert.Contains(t, w.events, "Warning ReferenceMissing "+want)

	require.NoError(t, w.client.Create(t.Context(), keys()))
	_, err = w.pass()
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.StateRunning, w.agent().Status.State)
}

// A reference that goes missing later must not hide how the workload fares, and
// how it fares must not hide the reference.
func TestWatchWhileAReferenceIsMissing(t *testing.T) {
	serving := v1alpha1.LoomAgentStatus{ObservedGeneration: 1, State: v1alpha1.StateRunning, Check: &v1alpha1.CheckResult{}}
	for name, c := range map[string]struct {
		watch error
		ready string
		err   error
	}{
		"all is well":                  {nil, "False/ReferenceMissing", nil},
		"it waits for something else":  {stages.Wait("RolloutInProgress", "Pods start.", 0), "False/ReferenceMissing", nil},
		"it has come to an end":        {stages.Stop("RunFailed", "It failed."), "False/ReferenceMissing", nil},
		"it fails, and is tried again": {stages.Fail("Broken", "It broke.", errBroken), "False/Broken", errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, naming(serving))
			w.watch = func(_ context.Context, pass *journal.Pass) error {
				pass.Object().Status.Workload = &v1alpha1.Workload{Name: "seen"}
				return c.watch
			}
			_, err := w.pass()
			require.ErrorIs(t, err, c.err)
			verdict, _ := w.condition("Ready")
			assert.Equal(t, c.ready, verdict)
			assert.Equal(t, 1, w.watched)
			assert.Equal(t, "seen", w.agent().Status.Workload.Name)
		})
	}
}

func TestReferenceThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"forbidden": {
			apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "keys", errors.New("no rights")),
			`An object that the document names could not be read: secrets "keys" is forbidden: no rights. It is tried again; check that the operator may get it.`,
		},
		"no answer": {
			errors.New("dial tcp 10.0.0.1:6443: " + canary),
			"An object that the document names could not be read: the API server gave no answer. It is tried again; check that the operator may get it.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, naming(v1alpha1.LoomAgentStatus{}), keys())
			w.read = c.err
			_, err := w.pass()
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, 1, w.watched)
			assert.Zero(t, w.worked)
			verdict, message := w.condition(v1alpha1.ConditionReferencesResolved)
			assert.Equal(t, "False/ReferenceUnreadable", verdict)
			assert.Equal(t, c.text, message)
			verdict, message = w.condition(v1alpha1.ConditionSynced)
			assert.Equal(t, "False/ReconcileError", verdict)
			assert.Equal(t, c.text, message)
		})
	}
	t.Run("and the workload cannot be watched either", func(t *testing.T) {
		w := newWorld(t, naming(v1alpha1.LoomAgentStatus{}))
		w.read = errors.New("down")
		w.watch = func(context.Context, *journal.Pass) error { return errBroken }
		_, err := w.pass()
		require.ErrorIs(t, err, errBroken)
	})
}

// A run that was handed what it needs goes on to its recorded end.
func TestReferencesOfARunThatWasStarted(t *testing.T) {
	started := v1alpha1.LoomAgentStatus{ObservedGeneration: 1, State: v1alpha1.StateRunning, Check: &v1alpha1.CheckResult{}, Workload: &v1alpha1.Workload{Kind: "Job", Name: "a-1", UID: "j"}}
	waiting := started
	waiting.Workload = nil
	scheduled := naming(started)
	scheduled.Spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "@daily"}
	wiped := naming(v1alpha1.LoomAgentStatus{})
	wiped.Annotations = map[string]string{v1alpha1.RunAnnotation: guard.Start{UID: wiped.UID, Generation: wiped.Generation, Job: "j"}.String()}
	serving := naming(started)
	serving.Spec.Command, serving.Spec.Agent = nil, v1alpha1.NewAgentDocument(`{}`)
	for name, c := range map[string]struct {
		agent  *v1alpha1.LoomAgent
		worked int
	}{
		"a command that was started":               {naming(started), 1},
		"a started command whose status was wiped": {wiped, 1},
		"a command that was not":                   {naming(waiting), 0},
		"a schedule of a command has further runs": {scheduled, 0},
		"a serving agent has further pods":         {serving, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.agent)
			_, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, c.worked, w.worked)
			verdict, message := w.condition(v1alpha1.ConditionReferencesResolved)
			if c.worked == 0 {
				assert.Equal(t, "False/ReferenceMissing", verdict)
				return
			}
			assert.Equal(t, "True/Resolved", verdict)
			assert.Equal(t, "Every object that the document names existed when the run was started.", message)
		})
	}
}

package intake_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Case A67: an agent that rests costs next to nothing.
func TestRest(t *testing.T) {
	nothing := func(context.Context, *journal.Pass) error { return nil }
	wait := func(context.Context, *journal.Pass) error { return stages.Wait("RolloutInProgress", "Pods start.", 0) }
	for name, c := range map[string]struct {
		work          stages.Handler[*v1alpha1.LoomAgent]
		ready, naming string
	}{
		"paused":                           {intake.Paused(nothing), "False/Paused", `The annotation loom.beyond10x.dev/paused is "true"`},
		"paused, while the workload waits": {intake.Paused(wait), "False/Paused", `The annotation loom.beyond10x.dev/paused is "true"`},
		"suspended":                        {func(context.Context, *journal.Pass) error { return intake.Resting() }, "False/Suspended", "spec.suspend is true"},
		"a schedule suspended":             {func(context.Context, *journal.Pass) error { return intake.RestingFor("spec.schedule.suspend") }, "False/Suspended", "spec.schedule.suspend is true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
			w.work = c.work
			result, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, 6*time.Hour, result.RequeueAfter)
			verdict, message := w.condition("Ready")
			assert.Equal(t, c.ready, verdict)
			assert.Contains(t, message, c.naming)
			assert.False(t, w.sent("Warning"))
		})
	}
}

func TestPausedAgentWhoseWorkloadCannotBeRead(t *testing.T) {
	w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
	w.work = intake.Paused(func(context.Context, *journal.Pass) error { return errBroken })
	_, err := w.pass()
	require.ErrorIs(t, err, errBroken)
}

func TestCasesOfRest(t *testing.T) {
	agent := good(v1alpha1.LoomAgentStatus{})
	assert.False(t, intake.IsPaused(agent, nil))
	assert.False(t, intake.IsSuspended(agent, nil))
	agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "yes"}
	agent.Spec.Suspend = new(false)
	assert.False(t, intake.IsPaused(agent, nil))
	assert.False(t, intake.IsSuspended(agent, nil))
	agent.Annotations[v1alpha1.PausedAnnotation] = "true"
	agent.Spec.Suspend = new(true)
	assert.True(t, intake.IsPaused(agent, nil))
	assert.True(t, intake.IsSuspended(agent, nil))
}

func TestSummary(t *testing.T) {
	for name, c := range map[string]struct {
		outcome error
		synced  string
		stalled string // absent when empty
		trouble bool
	}{
		"success":                                {nil, "True/ReconcileSuccess", "", false},
		"a settled negative answer":              {stages.Stop("RunFailed", "It failed."), "True/ReconcileSuccess", "True/RunFailed", false},
		"a failure":                              {stages.Fail("Broken", "It broke.", errBroken), "False/ReconcileError", "", false},
		"a failure for good":                     {stages.Terminal(errBroken), "False/ReconcileError", "True/ReconcileError", false},
		"a failure with words for good":          {stages.Fail("ChildInvalid", "It is invalid.", stages.Terminal(errBroken)), "False/ReconcileError", "True/ChildInvalid", false},
		"a failure without words":                {errBroken, "False/ReconcileError", "", false},
		"a wait that passes by itself":           {stages.Wait("RolloutInProgress", "Pods start.", 0), "True/ReconcileSuccess", "", false},
		"a run":                                  {stages.Wait("Running", "It runs.", 0), "True/ReconcileSuccess", "", false},
		"the former workload is going":           {stages.Wait("ReplacingVariant", "It goes.", 0), "True/ReconcileSuccess", "", false},
		"a child is going":                       {stages.Wait("ChildTerminating", "It goes.", 0), "True/ReconcileSuccess", "", false},
		"a queue holds the Job":                  {stages.Wait("JobSuspended", "It is held.", 0), "True/ReconcileSuccess", "", false},
		"a person asked for no pods":             {stages.Wait("ScaledToZero", "No pods.", 0), "True/ReconcileSuccess", "", false},
		"an image that cannot be pulled":         {stages.Wait("ImagePullFailed", "No such image.", 0), "True/ReconcileSuccess", "", true},
		"an object of somebody else":             {stages.Wait("NameTaken", "It is taken.", 0), "True/ReconcileSuccess", "", true},
		"a rollout that does not come to an end": {stages.Wait("ProgressDeadlineExceeded", "Too late.", 0), "True/ReconcileSuccess", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
			w.work = func(context.Context, *journal.Pass) error { return c.outcome }
			_, err := w.pass()
			failed := strings.HasPrefix(c.synced, "False")
			assert.Equal(t, failed, err != nil)
			verdict, message := w.condition(v1alpha1.ConditionSynced)
			assert.Equal(t, c.synced, verdict)
			if _, told := w.condition("Ready"); failed {
				assert.Equal(t, told, message)
			}
			if stalled, found := stages.GetCondition(w.agent(), v1alpha1.ConditionStalled); found {
				assert.Equal(t, c.stalled, string(stalled.Status)+"/"+stalled.Reason)
				_, told := w.condition("Ready")
				assert.Equal(t, told, stalled.Message)
			} else {
				assert.Empty(t, c.stalled)
			}
			if c.trouble {
				ready, told := w.condition("Ready")
				_, reason, _ := strings.Cut(ready, "/")
				assert.Contains(t, w.events, "Warning "+reason+" "+told)
				return
			}
			assert.Equal(t, failed, w.sent("Warning"))
		})
	}
}

// Tools that follow kstatus give up on an agent that is stalled, so the
// condition goes as soon as the agent goes on.
func TestStalledIsRetired(t *testing.T) {
	for name, next := range map[string]error{
		"by a success": nil,
		"by a wait":    stages.Wait("Running", "It runs.", 0),
		"by a failure": errBroken,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
			outcome := stages.Stop("RunFailed", "It failed.")
			w.work = func(context.Context, *journal.Pass) error { return outcome }
			_, err := w.pass()
			require.NoError(t, err)
			verdict, _ := w.condition(v1alpha1.ConditionStalled)
			require.Equal(t, "True/RunFailed", verdict)

			outcome = next
			_, _ = w.pass()
			_, found := stages.GetCondition(w.agent(), v1alpha1.ConditionStalled)
			assert.False(t, found)
		})
	}
}

// The list of reasons is closed, so an error without words of its own gets the
// one for that; its text may hold a secret and is for the log.
func TestFailureWithoutWords(t *testing.T) {
	w := newWorld(t, good(v1alpha1.LoomAgentStatus{}))
	w.work = func(context.Context, *journal.Pass) error { return errBroken }
	_, err := w.pass()
	require.ErrorIs(t, err, errBroken)
	for _, condition := range []string{"Ready", v1alpha1.ConditionAvailable, v1alpha1.ConditionSynced} {
		verdict, message := w.condition(condition)
		assert.Equal(t, "False/ReconcileError", verdict)
		assert.Contains(t, message, `Stage "Available" failed (Error).`)
		assert.NotContains(t, message, "broken")
	}
}

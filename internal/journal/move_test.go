package journal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// page is what one pass wrote.
type page struct {
	agent  *v1alpha1.LoomAgent
	writes int
	events []string // type, reason, action and note, in the order they were sent
}

// turn runs one pass of a handler over the agent.
func turn(t *testing.T, agent *v1alpha1.LoomAgent, handler stages.Handler[*v1alpha1.LoomAgent]) page {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	written := page{agent: &v1alpha1.LoomAgent{}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(agent).WithStatusSubresource(agent).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				event := obj.(*eventsv1.Event)
				written.events = append(written.events, strings.Join([]string{event.Type, event.Reason, event.Action, event.Note}, " | "))
				return c.Create(ctx, obj, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				written.writes++
				return c.SubResource(name).Update(ctx, obj, opts...)
			},
		}).Build()
	controller, err := stages.For[*v1alpha1.LoomAgent]("test", stages.TransitionEvents(false)).Reconcile(handler).Build(c, c)
	require.NoError(t, err)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(agent), written.agent))
	_, err = controller.Reconcile(t.Context(), written.agent.DeepCopy())
	require.NoError(t, err)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(agent), written.agent))
	return written
}

func newAgent(generation int64, status v1alpha1.LoomAgentStatus) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", Generation: generation}, Status: status}
}

// running is the status of a command that runs, in generation 2.
func running() v1alpha1.LoomAgentStatus {
	return v1alpha1.LoomAgentStatus{
		ObservedGeneration: 2, State: v1alpha1.StateRunning, Variant: v1alpha1.Command,
		Check:    &v1alpha1.CheckResult{Message: "The document was accepted."},
		Workload: &v1alpha1.Workload{Kind: "Job", Name: "a-1", UID: "j"},
		NextRun:  &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Local()},
	}
}

func accept(pass *journal.Pass) error {
	agent := pass.Object()
	_, err := journal.Move(pass, lifecycle.RecordCheck{Name: agent.Name, Generation: agent.Generation, Message: "Fine.", Variant: lifecycle.VariantCommand})
	return err
}

func TestMovesOfOnePassFoldIntoOneWrite(t *testing.T) {
	for name, agent := range map[string]*v1alpha1.LoomAgent{
		"from creation":               newAgent(1, v1alpha1.LoomAgentStatus{State: v1alpha1.StatePending}),
		"across a new generation":     newAgent(3, running()),
		"over the status of a backup": newAgent(1, running()),
	} {
		t.Run(name, func(t *testing.T) {
			got := turn(t, agent, func(_ context.Context, pass *journal.Pass) error {
				require.NoError(t, journal.Apply(pass))
				assert.Equal(t, v1alpha1.StatePending, pass.Object().Status.State)
				assert.Nil(t, pass.Object().Status.Check)
				return accept(pass)
			})
			assert.Equal(t, 1, got.writes)
			assert.Equal(t, v1alpha1.StateRunning, got.agent.Status.State)
			assert.Equal(t, v1alpha1.Command, got.agent.Status.Variant)
			assert.Equal(t, agent.Generation, got.agent.Status.ObservedGeneration)
			assert.Equal(t, &v1alpha1.CheckResult{Message: "Fine."}, got.agent.Status.Check)
			assert.Nil(t, got.agent.Status.Workload)
			assert.Nil(t, got.agent.Status.NextRun)
			assert.Empty(t, got.events, "the status tells all of it")
		})
	}
}

func TestSameGenerationAppliedAgainChangesNothing(t *testing.T) {
	agent := newAgent(2, running())
	got := turn(t, agent, func(_ context.Context, pass *journal.Pass) error { return journal.Apply(pass) })
	got.agent.Status.Conditions = nil
	assert.Equal(t, agent.Status, got.agent.Status)
	assert.Empty(t, got.events)
}

// Facts arrive late and repeatedly; those that the state has no answer to are
// dropped. A command that must be answered is an error all the same.
func TestLateFactsChangeNothing(t *testing.T) {
	code := int32(3)
	ended := running()
	ended.State, ended.Run = v1alpha1.StateCompleted, &v1alpha1.RunEnd{ExitCode: new(int32(0))}
	refused := running()
	refused.State, refused.Check.ExitCode = v1alpha1.StateRefused, 1
	for name, c := range map[string]struct {
		status v1alpha1.LoomAgentStatus
		fact   lifecycle.Command
	}{
		"another end of a run that is recorded":      {ended, lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunFailed, End: lifecycle.RunEnd{ExitCode: &code}}},
		"a start of a run that has ended":            {ended, lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunActive}},
		"a run of a refused document":                {refused, lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunSucceeded}},
		"a Deployment of a refused document":         {refused, lifecycle.ObserveDeployment{Name: "a", Availability: lifecycle.Available}},
		"a run of a schedule of a refused document":  {refused, lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunFailed}},
		"an active run of a schedule that goes on":   {running(), lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunActive}},
		"a Deployment of a command that has ended":   {ended, lifecycle.ObserveDeployment{Name: "a", Availability: lifecycle.Unavailable}},
		"a run of a schedule of a command, too late": {ended, lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunSucceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := newAgent(2, c.status)
			got := turn(t, agent, func(_ context.Context, pass *journal.Pass) error { return journal.Observe(pass, c.fact) })
			got.agent.Status.Conditions = nil
			assert.Equal(t, agent.Status, got.agent.Status)
			assert.Empty(t, got.events)
		})
	}
}

func TestMoveThatHasNoAnswer(t *testing.T) {
	agent := newAgent(2, running())
	got := turn(t, agent, func(_ context.Context, pass *journal.Pass) error {
		var conflict *lifecycle.StateConflictError
		assert.ErrorAs(t, accept(pass), &conflict)
		var stale *lifecycle.StaleGenerationError
		_, err := journal.Move(pass, lifecycle.RecordCheck{Name: "a", Generation: 1})
		assert.ErrorAs(t, err, &stale)
		assert.ErrorIs(t, journal.Observe(pass, nil), lifecycle.ErrUnknownCommand)
		var unknown *lifecycle.NotFoundError
		assert.ErrorAs(t, journal.Observe(pass, lifecycle.ObserveRun{Name: "b", Phase: lifecycle.RunActive}), &unknown)
		return nil
	})
	got.agent.Status.Conditions = nil
	assert.Equal(t, agent.Status, got.agent.Status)
	assert.Empty(t, got.events)
}

func TestEvents(t *testing.T) {
	code, reason := int32(137), "OOMKilled"
	finished := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	end := lifecycle.RunEnd{ExitCode: &code, Reason: &reason, FinishedAt: &finished}
	serving, degraded := running(), running()
	serving.Variant, degraded.Variant, degraded.State = v1alpha1.AgentServe, v1alpha1.AgentServe, v1alpha1.StateDegraded
	pending := v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StatePending}
	for name, c := range map[string]struct {
		status  v1alpha1.LoomAgentStatus
		command lifecycle.Command
		want    string
	}{
		"refused, with two findings": {pending, lifecycle.RecordCheck{Name: "a", Generation: 2, ExitCode: 1, Message: "spec.env: Wrong.\nspec.image: Wrong.", Variant: lifecycle.VariantAgentServe},
			"Warning | LoomAgentRefused | Record | LoomAgent a: variant AgentServe, check ended with exit code 1: spec.env: Wrong. spec.image: Wrong."},
		"degraded": {serving, lifecycle.ObserveDeployment{Name: "a", Availability: lifecycle.Unavailable},
			"Warning | LoomAgentDegraded | Record | LoomAgent a: the Deployment is Unavailable."},
		"recovered": {degraded, lifecycle.ObserveDeployment{Name: "a", Availability: lifecycle.Available},
			"Normal | LoomAgentRecovered | Record | LoomAgent a: the Deployment is Available."},
		"failed": {running(), lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunFailed, End: end},
			"Warning | LoomAgentFailed | Record | LoomAgent a: ended with exit code 137 (OOMKilled)."},
		"failed, and nobody knows how": {running(), lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunFailed},
			"Warning | LoomAgentFailed | Record | LoomAgent a: ended without a known exit code."},
		"a run of a schedule succeeded": {running(), lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunSucceeded, End: lifecycle.RunEnd{ExitCode: new(int32(0))}},
			"Normal | LoomAgentLastRunObserved | Record | LoomAgent a: run Succeeded, ended with exit code 0."},
		"a run of a schedule failed": {running(), lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunFailed, End: end},
			"Warning | LoomAgentLastRunObserved | RecordRun/20260301T110000Z | LoomAgent a: run Failed, ended with exit code 137 (OOMKilled)."},
	} {
		t.Run(name, func(t *testing.T) {
			got := turn(t, newAgent(2, c.status), func(_ context.Context, pass *journal.Pass) error { return journal.Observe(pass, c.command) })
			assert.Equal(t, []string{c.want}, got.events)
		})
	}
}

// What the status goes on telling gets no Event.
func TestMovesWithoutEvents(t *testing.T) {
	serving := running()
	serving.Variant = v1alpha1.AgentServe
	for name, c := range map[string]struct {
		status  v1alpha1.LoomAgentStatus
		command lifecycle.Command
	}{
		"applied":        {v1alpha1.LoomAgentStatus{}, lifecycle.ApplyLoomAgent{Name: "a", Generation: 2}},
		"running":        {v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StatePending}, lifecycle.RecordCheck{Name: "a", Generation: 2, Variant: lifecycle.VariantCommand}},
		"observed":       {serving, lifecycle.ObserveDeployment{Name: "a", Availability: lifecycle.Available}},
		"a run observed": {running(), lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunActive}},
		"completed":      {running(), lifecycle.ObserveRun{Name: "a", Phase: lifecycle.RunSucceeded, End: lifecycle.RunEnd{ExitCode: new(int32(0))}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := turn(t, newAgent(2, c.status), func(_ context.Context, pass *journal.Pass) error { return journal.Observe(pass, c.command) })
			assert.Empty(t, got.events)
		})
	}
}

// Each run of a schedule is an occurrence of its own: the runtime sends an
// Event of the same action once in a while only.
func TestEachRunOfAScheduleHasItsEvent(t *testing.T) {
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	got := turn(t, newAgent(2, running()), func(_ context.Context, pass *journal.Pass) error {
		for minute := range 3 {
			end := lifecycle.RunEnd{FinishedAt: new(first.Add(time.Duration(minute) * time.Minute))}
			require.NoError(t, journal.Observe(pass, lifecycle.ObserveScheduledRun{Name: "a", Phase: lifecycle.RunSucceeded, End: end}))
		}
		return nil
	})
	assert.Len(t, got.events, 3)
	assert.Equal(t, first.Add(2*time.Minute), got.agent.Status.LastRun.FinishedAt.UTC())
	assert.Equal(t, 1, got.writes)
}

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Case A08: an image that does not exist shows by name and reason, and what
// waits for it goes on when it appears, without an edit.
func TestMissingImageIsNamedAndItsArrivalNeedsNoEdit(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	tag := namespace // nobody has used it before
	image := &v1alpha1.ImageRef{Repository: "ghcr.io/beyond10x/loom-agent", Tag: tag}
	served, ran := servingSpec(), commandSpec("run")
	served.Image, ran.Image = image, image
	serving, command := create(t, namespace, "desk", served), create(t, namespace, "notes", ran)
	fails := func(status v1alpha1.LoomAgentStatus) bool {
		ready := condition(status, v1alpha1.ConditionReady)
		return ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonImagePullFailed
	}
	for agent, state := range map[*v1alpha1.LoomAgent]v1alpha1.AgentState{serving: v1alpha1.StateDegraded, command: v1alpha1.StateRunning} {
		status := await(t, agent, "cannot pull its image", fails)
		assert.Equal(t, state, status.State, agent.Name)
		assert.Contains(t, condition(status, v1alpha1.ConditionReady).Message, image.String(), agent.Name)
		assert.Nil(t, status.Run)
	}

	_, err := kube.BuildImage(t.Context(), "agent", tag)
	require.NoError(t, err)
	for agent, state := range map[*v1alpha1.LoomAgent]v1alpha1.AgentState{serving: v1alpha1.StateRunning, command: v1alpha1.StateCompleted} {
		status := await(t, agent, "goes on", func(status v1alpha1.LoomAgentStatus) bool {
			return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
		})
		assert.Equal(t, state, status.State, agent.Name)
		assert.Equal(t, int64(1), agent.Generation)
	}
	assert.Equal(t, 1, podsStarted(t, namespace), "the command ran once")
}

// Case A58: an agent that crashes again and again is Degraded and stays so.
func TestCrashLoopIsDegradedWithoutFlapping(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	watching, err := cluster.Client.Watch(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(namespace))
	require.NoError(t, err)
	defer watching.Stop()
	spec := servingSpec()
	spec.Agent = agentWith(`{"exitCode":4,"sleep":"8s"}`) // It serves for a moment before it ends.
	agent := create(t, namespace, "crashing", spec)
	status := await(t, agent, "is degraded", inState(v1alpha1.StateDegraded))
	ready := condition(status, v1alpha1.ConditionReady)
	assert.Equal(t, v1alpha1.ReasonCrashLooping, ready.Reason)
	assert.Contains(t, ready.Message, "exit code 4")

	states := statesUntil(t, watching, time.After(time.Minute))
	require.Less(t, len(states), 4, "%v", states)
	assert.Equal(t, v1alpha1.StateDegraded, states[len(states)-1])
	restarts := onePod(t, agent, "restarts", func(corev1.Pod) bool { return true }).Status.ContainerStatuses[0].RestartCount
	assert.GreaterOrEqual(t, restarts, int32(2), "it went on crashing while it was watched")
}

// statesUntil collects the states that an agent goes through.
func statesUntil(t *testing.T, watching watch.Interface, end <-chan time.Time) []v1alpha1.AgentState {
	t.Helper()
	var states []v1alpha1.AgentState
	for {
		select {
		case event, open := <-watching.ResultChan():
			require.True(t, open, "the API server ended the watch")
			agent, isAgent := event.Object.(*v1alpha1.LoomAgent)
			require.True(t, isAgent, "%v", event.Object)
			if state := agent.Status.State; len(states) == 0 || states[len(states)-1] != state {
				states = append(states, state)
			}
		case <-end:
			return states
		}
	}
}

// Case A24: a run whose pod is evicted has failed, not by the program's fault,
// and is not run again.
func TestEvictedRunFailsAsDisruptedAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	agent := create(t, restricted(t), "evicted", commandSpec("run", "--sleep=1h"))
	pod := onePod(t, agent, "runs", inPhase(corev1.PodRunning))
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	require.NoError(t, cluster.Client.SubResource("eviction").Create(t.Context(), &pod, eviction))

	status := await(t, agent, "has failed", inState(v1alpha1.StateFailed))
	require.NotNil(t, status.Run)
	require.NotNil(t, status.Run.Reason)
	// The Job removes the pod as it ends, so only the Job may still tell.
	assert.Contains(t, []string{"EvictionByEvictionAPI", string(corev1.DisruptionTarget)}, *status.Run.Reason)
	assert.NotNil(t, status.Run.FinishedAt)
	ready := condition(status, v1alpha1.ConditionReady)
	assert.Equal(t, v1alpha1.ReasonDisrupted, ready.Reason)
	assert.Equal(t, 1, podsStarted(t, agent.Namespace), "no second pod")
}

// Case A38: the program ends with 0 when it is stopped, and yet the run has
// failed, since its Job has.
func TestRunThatIsStoppedAtItsDeadlineFailsWhateverItsExitCode(t *testing.T) {
	t.Parallel()
	spec := commandSpec("serve")
	spec.Run = &v1alpha1.RunSettings{ActiveDeadlineSeconds: new(int64(3))}
	agent := create(t, restricted(t), "late", spec)
	status := await(t, agent, "has failed", inState(v1alpha1.StateFailed))
	assert.Equal(t, v1alpha1.ReasonDeadlineExceeded, condition(status, v1alpha1.ConditionReady).Reason)
	require.NotNil(t, status.Run)
	assert.Equal(t, new(v1alpha1.ReasonDeadlineExceeded), status.Run.Reason)
	assert.NotNil(t, status.Run.FinishedAt)
	assert.Equal(t, 1, podsStarted(t, agent.Namespace))
}

package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The end that is recorded is the one of the agent's container. What the pod
// shows is written by the test, what the Job says by Kubernetes.
func TestRecordedEndOfARun(t *testing.T) {
	at := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	terminated := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: at}}
	}
	agentEnds := func(code int32, reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, State: terminated(code, reason)}}
	}
	tests := map[string]struct {
		pod      corev1.PodStatus
		state    v1alpha1.AgentState
		ready    string
		exitCode *int32
		reason   string
		// jobTime tells that the time is that of the Job's condition.
		jobTime bool
	}{
		"exit 0": {
			pod:   corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: agentEnds(0, "Completed")},
			state: v1alpha1.StateCompleted, ready: v1alpha1.ReasonCompleted, exitCode: new(int32(0)), reason: "Completed",
		},
		"exit 7": {
			pod:   corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: agentEnds(7, "Error")},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonRunFailed, exitCode: new(int32(7)), reason: "Error",
		},
		"A07 out of memory": {
			pod:   corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: agentEnds(137, "OOMKilled")},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonOOMKilled, exitCode: new(int32(137)), reason: "OOMKilled",
		},
		"A22 a container of others comes first": {
			pod: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: append([]corev1.ContainerStatus{
				{Name: "istio-proxy", State: terminated(0, "Completed")}}, agentEnds(4, "Error")...)},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonRunFailed, exitCode: new(int32(4)), reason: "Error",
		},
		"A38 evicted after exit 0": {
			pod:   corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", ContainerStatuses: agentEnds(0, "Completed")},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonEvicted, exitCode: new(int32(0)), reason: "Evicted",
		},
		"A24 disrupted": {
			pod: corev1.PodStatus{
				Phase: corev1.PodFailed, ContainerStatuses: agentEnds(143, "Error"),
				Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}},
			},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonDisrupted, exitCode: new(int32(143)), reason: "EvictionByEvictionAPI",
		},
		"A61 the node could not say": {
			pod: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}}}},
			state: v1alpha1.StateFailed, ready: v1alpha1.ReasonExitUnknown, reason: "ContainerStatusUnknown", jobTime: true,
		},
		"A66 out of memory with exit 0": {
			pod:   corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: agentEnds(0, "OOMKilled")},
			state: v1alpha1.StateCompleted, ready: v1alpha1.ReasonCompleted, exitCode: new(int32(0)), reason: "OOMKilled",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("c", command())

			w.report(w.pod("c"), func(status *corev1.PodStatus) { *status = test.pod })

			truth := metav1.ConditionFalse
			if test.state == v1alpha1.StateCompleted {
				truth = metav1.ConditionTrue
			}
			agent := w.await("c", "has ended", state(test.state), ready(truth, test.ready))
			assert.Equal(t, test.exitCode, agent.Status.Run.ExitCode)
			assert.Equal(t, &test.reason, agent.Status.Run.Reason)
			require.NotNil(t, agent.Status.Run.FinishedAt)
			if test.jobTime {
				assert.Equal(t, jobEnd(w, agent).Unix(), agent.Status.Run.FinishedAt.Unix())
			} else {
				assert.Equal(t, at.Unix(), agent.Status.Run.FinishedAt.Unix())
			}
			assert.Len(t, podsOf(w, "c"), 1)
		})
	}
}

// jobEnd is when the Job says that it ended.
func jobEnd(w world, agent *v1alpha1.LoomAgent) metav1.Time {
	w.Helper()
	for _, c := range get[batchv1.Job](w, agent.Status.Workload.Name).Status.Conditions {
		if c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete {
			return c.LastTransitionTime
		}
	}
	require.Fail(w, "the Job has not ended")
	return metav1.Time{}
}

// A23: nobody can tell the exit code of a pod that is gone.
func TestA23PodIsGoneBeforeItsExitCodeIsRead(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	pod := w.pod("c")

	require.NoError(t, w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	agent := w.await("c", "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonExitUnknown))

	assert.Nil(t, agent.Status.Run.ExitCode)
	assert.Equal(t, new("BackoffLimitExceeded"), agent.Status.Run.Reason)
	assert.Equal(t, jobEnd(w, agent).Unix(), agent.Status.Run.FinishedAt.Unix())
}

// A41: a Job that reached its deadline has no completionTime.
func TestA41DeadlineExceeded(t *testing.T) {
	w := newWorld(t)
	spec := command()
	spec.Run = &v1alpha1.RunSettings{ActiveDeadlineSeconds: new(int64(1))}
	w.create("c", spec)

	agent := w.await("c", "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonDeadlineExceeded))

	assert.Nil(t, agent.Status.Run.ExitCode)
	assert.Equal(t, new("DeadlineExceeded"), agent.Status.Run.Reason)
	assert.Equal(t, jobEnd(w, agent).Unix(), agent.Status.Run.FinishedAt.Unix())
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "activeDeadlineSeconds")
}

// A44: Kubernetes itself may start a second pod for one Job. The verdict is the
// Job's and the status says that the program may have run twice.
func TestA44SecondPodOfOneJobIsTold(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	w.create("c", command())
	first := w.pod("c")
	job := w.await("c", "runs", hasWorkload("Job"), state(v1alpha1.StateRunning)).Status.Workload.Name
	require.NoError(t, operator.Stop())
	w.ends(first, exit(0))
	w.eventually("the Job is complete", func(context.Context) error {
		if job := get[batchv1.Job](w, job); job.Status.Succeeded != 1 || job.Status.CompletionTime == nil {
			return fmt.Errorf("its status is %+v", job.Status)
		}
		return nil
	})
	second := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: first.GenerateName, Labels: first.Labels, OwnerReferences: first.OwnerReferences}, Spec: first.Spec}
	w.make(second)
	w.ends(second, exit(1))

	require.NoError(t, operator.Restart())
	agent := w.await("c", "has completed", state(v1alpha1.StateCompleted))

	assert.Equal(t, new(int32(0)), agent.Status.Run.ExitCode)
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "more than once")
}

// A07, A38 for the runs of a schedule, which are recorded in the order in which
// they finish, each once.
func TestRecordedEndsOfAScheduleAreInOrder(t *testing.T) {
	w := newWorld(t)
	w.create("t", scheduled())
	w.inForce("t")

	w.tick("t")
	w.ends(w.pod("t"), corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(time.Now().Truncate(time.Second))})
	agent := w.await("t", "has a failed run", state(v1alpha1.StateRunning), condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionFalse, v1alpha1.ReasonLastRunFailed))
	assert.Equal(t, v1alpha1.RunFailed, agent.Status.LastRun.Phase)
	assert.Equal(t, new(int32(137)), agent.Status.LastRun.ExitCode)
	assert.Equal(t, new("OOMKilled"), agent.Status.LastRun.Reason)
	assert.NoError(t, ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled)(agent), "the schedule itself is in force")

	w.tick("t")
	w.ends(w.pod("t"), exit(0))
	agent = w.await("t", "has a good run", state(v1alpha1.StateRunning), condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionTrue, v1alpha1.ReasonLastRunSucceeded))
	assert.Equal(t, new(int32(0)), agent.Status.LastRun.ExitCode)
	assert.Equal(t, v1alpha1.RunSucceeded, agent.Status.LastRun.Phase)
}

// A29: a run that cannot start keeps the next ones from starting.
func TestA29StuckRunIsTold(t *testing.T) {
	w := newWorld(t)
	w.create("t", scheduled())
	w.inForce("t")
	w.tick("t")
	pod := w.pod("t")

	w.waits(pod, "ImagePullBackOff", "Back-off pulling image")
	agent := w.await("t", "is blocked", notReady(v1alpha1.ReasonRunBlocked), state(v1alpha1.StateRunning))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), v1alpha1.ReasonImagePullFailed)
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "registry.test/agent:1")
	assert.Nil(t, agent.Status.LastRun)

	w.ends(pod, exit(0))
	w.inForce("t")
}

package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The Job is handed to Kubernetes' TTL controller only when its end is
// recorded, so a short TTL loses nothing.
func TestTTLBeginsWhenTheEndIsRecorded(t *testing.T) {
	w := newWorld(t)
	spec := command()
	spec.Run = &v1alpha1.RunSettings{TTLSecondsAfterFinished: new(int32(0))}
	agent := w.create("c", spec)
	pod := w.pod("c")
	assert.Nil(t, get[batchv1.Job](w, workload.JobName(agent)).Spec.TTLSecondsAfterFinished)

	w.ends(pod, exit(3))
	w.await("c", "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonRunFailed))
	w.gone(&batchv1.Job{ObjectMeta: w.meta(workload.JobName(agent))})

	harness.Always(t, 3*time.Second, "the end stays recorded", func(context.Context) error {
		agent := w.agent("c")
		if run := agent.Status.Run; run == nil || run.ExitCode == nil || *run.ExitCode != 3 || agent.Status.State != v1alpha1.StateFailed {
			return errors.New("it changed")
		}
		return nil
	})
}

// A run may end while the operator is away. The first pass then records the end,
// nothing happens to the agent after it, and what an earlier document left is
// removed all the same.
func TestWhatIsLeftOverIsRemovedWhenTheRunHasEnded(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	agent := w.create("c", command())
	pod := w.pod("c")
	w.await("c", "runs", hasWorkload("Job"), state(v1alpha1.StateRunning))
	require.NoError(t, operator.Kill())

	left := &corev1.ConfigMap{ObjectMeta: w.meta("left")}
	left.Labels = workload.ManagedBy()
	require.NoError(t, controllerutil.SetControllerReference(agent, left, w.Scheme()))
	w.make(left)
	w.ends(pod, exit(0))
	w.eventually("the Job is complete", func(context.Context) error {
		if job := get[batchv1.Job](w, workload.JobName(agent)); job.Status.CompletionTime == nil {
			return errors.New("it is not")
		}
		return nil
	})

	require.NoError(t, operator.Restart())
	w.await("c", "has completed", state(v1alpha1.StateCompleted))
	w.gone(left)
}

// A30: an operator of another version renders another Job; the one that runs
// stays as it is.
func TestA30UpgradeLeavesTheRunAlone(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	spec := command()
	spec.Image = nil
	w.create("c", spec)
	pod := w.pod("c")
	job := w.await("c", "runs", state(v1alpha1.StateRunning), hasWorkload("Job"), runs(harness.AgentImage)).Status.Workload
	before := get[batchv1.Job](w, job.Name)

	require.NoError(t, operator.Stop())
	cluster := *w.cluster
	cluster.OperatorBinary = relabeled(t, "0.2.0")
	operator = harness.StartOperator(t, &cluster, "--agent-image="+nextImage)
	operator.Working(t)
	edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"touched": "yes"} })
	harness.Always(t, 3*time.Second, "the Job is not changed", func(context.Context) error {
		if after := get[batchv1.Job](w, job.Name); after.ResourceVersion != before.ResourceVersion && after.Generation != before.Generation {
			return errors.New("it was")
		}
		return nil
	})
	w.ends(pod, exit(0))
	agent := w.await("c", "has completed", state(v1alpha1.StateCompleted))

	assert.Equal(t, job.UID, agent.Status.Workload.UID)
	assert.Equal(t, harness.AgentImage, agent.Status.Workload.Image)
	assert.NotContains(t, operator.Log(), "immutable")

	edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Spec.Command.Args = []string{"next"} })
	next := get[batchv1.Job](w, w.await("c", "runs anew", hasWorkload("Job")).Status.Workload.Name)
	assert.Equal(t, "loom-agent-next", next.Labels["app.kubernetes.io/name"], "the new version renders another Job")
}

// A47: whoever suspends the Job after the operator has resumed it keeps it so.
func TestA47SuspendedByAnotherStaysSuspended(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	w.pod("c")
	job := w.await("c", "runs", hasWorkload("Job"), state(v1alpha1.StateRunning)).Status.Workload

	edit(w, job.Name, func(job *batchv1.Job) { job.Spec.Suspend = new(true) })
	agent := w.await("c", "says so", notReady(v1alpha1.ReasonJobSuspended))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "suspended")
	harness.Always(t, 3*time.Second, "it stays suspended", func(context.Context) error {
		if !*get[batchv1.Job](w, job.Name).Spec.Suspend {
			return errors.New("it was resumed")
		}
		return nil
	})

	edit(w, job.Name, func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	w.completed("c")
	assert.Len(t, w.jobs(), 1)
}

// A queue that the agent names starts the Job in its turn: the operator hands
// the suspended Job over once its UID is recorded, and waits.
func TestAQueueStartsTheJob(t *testing.T) {
	w := newWorld(t)
	agent := &v1alpha1.LoomAgent{ObjectMeta: w.meta("c"), Spec: command()}
	agent.Labels = map[string]string{v1alpha1.QueueLabel: "gpu"}
	w.make(agent)
	agent = w.await("c", "waits for the queue", notReady(v1alpha1.ReasonJobSuspended), hasWorkload("Job"))
	job := get[batchv1.Job](w, workload.JobName(agent))
	assert.Equal(t, "gpu", job.Labels[v1alpha1.QueueLabel])
	assert.Equal(t, agent.Status.Workload.UID, job.UID)
	harness.Always(t, 3*time.Second, "it stays suspended", func(context.Context) error {
		if !*get[batchv1.Job](w, job.Name).Spec.Suspend {
			return errors.New("it was resumed")
		}
		return nil
	})

	edit(w, job.Name, func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	w.pod("c")
	w.completed("c")
	assert.Len(t, w.jobs(), 1)
}

package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// A28: a schedule that is suspended starts no run, is neither failed nor
// degraded, and keeps the Job of the last run; how many runs it makes up for
// when it is resumed is Kubernetes' decision, by the deadline that the document
// gives. Each is a change of the document, which clears lastRun.
func TestA28SuspendedScheduleKeepsTheJobOfItsLastRun(t *testing.T) {
	w := newWorld(t)
	spec := scheduled()
	spec.Schedule.StartingDeadlineSeconds = new(int64(90))
	w.create("t", spec)
	w.inForce("t")
	job := w.tick("t")
	w.ends(w.pod("t"), exit(3))
	w.await("t", "has a last run", condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionFalse, v1alpha1.ReasonLastRunFailed))

	edit(w, "t", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.Suspend = new(true) })
	agent := w.await("t", "rests", state(v1alpha1.StateRunning), notReady(v1alpha1.ReasonSuspended))
	assert.Nil(t, agent.Status.LastRun)
	assert.Nil(t, agent.Status.NextRun)
	assert.True(t, *get[batchv1.CronJob](w, "t").Spec.Suspend)

	edit(w, "t", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.Suspend = new(false) })
	agent = w.inForce("t")
	assert.NotNil(t, agent.Status.NextRun)
	cronJob := get[batchv1.CronJob](w, "t")
	assert.False(t, *cronJob.Spec.Suspend)
	assert.Equal(t, new(int64(90)), cronJob.Spec.StartingDeadlineSeconds)
	jobs := w.jobs()
	require.Len(t, jobs, 1)
	assert.Equal(t, job.UID, jobs[0].UID)
}

// A59: Kubernetes alone starts the runs of a schedule. An operator that starts
// anew around a tick makes no Job, and the times of the run are the pod's.
func TestA59OperatorMakesNoJobForASchedule(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	w.create("t", scheduled())
	w.inForce("t")
	job := w.tick("t")
	require.NoError(t, operator.Restart())
	end := exit(0)
	w.ends(w.pod("t"), end)

	agent := w.await("t", "has a last run", condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionTrue, v1alpha1.ReasonLastRunSucceeded))

	require.NotNil(t, agent.Status.LastRun)
	assert.True(t, end.FinishedAt.Equal(agent.Status.LastRun.FinishedAt), "%s is the container's %s", agent.Status.LastRun.FinishedAt, end.FinishedAt)
	jobs := w.jobs()
	require.Len(t, jobs, 1)
	assert.Equal(t, job.UID, jobs[0].UID)
	for _, write := range w.cluster.Writes(t, harness.OperatorUser(), w.namespace) {
		assert.NotEqual(t, "jobs", write.Resource, "%s", write)
	}
}

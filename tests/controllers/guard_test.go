package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The order of the guard, as somebody else's watches see it: the mark is there
// before the Job, the Job is suspended, its UID is recorded before it is
// resumed, and the start takes the place of the mark before that.
func TestJobIsMarkedCreatedRecordedAndOnlyThenResumed(t *testing.T) {
	w := newWorld(t)
	agents, err := w.Watch(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer agents.Stop()
	jobs, err := w.Watch(t.Context(), &batchv1.JobList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer jobs.Stop()

	w.create("c", command())
	w.await("c", "runs", state(v1alpha1.StateRunning), hasWorkload("Job"))
	w.completed("c")

	// The Job's own versions.
	created := next(t, jobs)
	require.Equal(t, watch.Added, created.Type)
	job := created.Object.(*batchv1.Job)
	assert.True(t, *job.Spec.Suspend, "it is created suspended")
	var resumed *batchv1.Job
	for resumed == nil {
		if version := next(t, jobs).Object.(*batchv1.Job); !*version.Spec.Suspend {
			resumed = version
		}
	}
	assert.Equal(t, "true", resumed.Annotations[v1alpha1.ResumedAnnotation])

	// The agent's versions, by the one clock that orders all writes.
	var marked, recorded, started string
	for started == "" {
		agent := next(t, agents).Object.(*v1alpha1.LoomAgent)
		if mark, ok := guard.MarkOf(agent); ok && marked == "" {
			marked = agent.ResourceVersion
			assert.Equal(t, job.Name, mark.Job)
		}
		if w := agent.Status.Workload; w != nil && recorded == "" {
			recorded = agent.ResourceVersion
			assert.Equal(t, job.UID, w.UID)
		}
		if start, ok := guard.StartOf(agent); ok {
			started = agent.ResourceVersion
			assert.Equal(t, job.UID, start.Job)
			assert.NotContains(t, agent.Annotations, v1alpha1.CreatePendingAnnotation)
		}
	}
	assertOrder(t, marked, job.ResourceVersion, recorded, started, resumed.ResourceVersion)
}

// assertOrder compares resource versions, which are numbers of one sequence.
func assertOrder(t *testing.T, versions ...string) {
	t.Helper()
	var numbers []int
	for _, version := range versions {
		var number int
		_, err := fmt.Sscan(version, &number)
		require.NoError(t, err, version)
		numbers = append(numbers, number)
	}
	assert.IsIncreasing(t, numbers)
}

// A03, A06: nothing about the Job is left to chance, and it is tried once.
func TestA03JobStartsOnePodOnce(t *testing.T) {
	w := newWorld(t)
	agent := w.create("c", command())
	w.pod("c")

	job := get[batchv1.Job](w, workload.JobName(agent))

	assert.Empty(t, job.GenerateName)
	assert.Equal(t, new(int32(0)), job.Spec.BackoffLimit)
	assert.Equal(t, new(int32(1)), job.Spec.Completions)
	assert.Equal(t, new(int32(1)), job.Spec.Parallelism)
	assert.Nil(t, job.Spec.TTLSecondsAfterFinished)
	assert.Equal(t, "1", job.Annotations[v1alpha1.GenerationAnnotation])
	assert.True(t, metav1.IsControlledBy(job, agent))
}

// A01: the recorded end stays, whatever becomes of the Job.
func TestA01FinishedRunIsNeverRepeated(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	w.create("c", command())
	before := w.completed("c")

	w.remove(get[batchv1.Job](w, before.Status.Workload.Name))
	w.gone(&batchv1.Job{ObjectMeta: w.meta(before.Status.Workload.Name)})
	require.NoError(t, operator.Restart())
	operator.Working(t)
	edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"touched": "yes"} })

	harness.Always(t, 5*time.Second, "nothing is run again", func(context.Context) error {
		if jobs := w.jobs(); len(jobs) > 0 {
			return fmt.Errorf("there is Job %s", jobs[0].Name)
		}
		return nil
	})
	after := w.agent("c")
	assert.Equal(t, before.Status, after.Status)
}

// A02: somebody else writes to the agent all the time while its run is made.
func TestA02ConflictingWritersGetOneRun(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	quarrel := make(chan struct{})
	w.create("c", command())
	go func() {
		defer close(quarrel)
		for n := 0; ctx.Err() == nil; n++ {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"count":"%d"}}}`, n)
			_ = w.Patch(ctx, &v1alpha1.LoomAgent{ObjectMeta: w.meta("c")}, client.RawPatch(types.MergePatchType, []byte(patch))) // Canceled at the end.
		}
	}()

	pod := w.pod("c")
	stop()
	<-quarrel
	w.ends(pod, exit(0))
	agent := w.await("c", "has completed", state(v1alpha1.StateCompleted))

	assert.Len(t, w.jobs(), 1)
	assert.Equal(t, new(int32(0)), agent.Status.Run.ExitCode)
}

// marked writes the mark of the agent's own generation, as an operator that
// died right after it.
func (w world) marked(name string, change func(*guard.Mark)) *v1alpha1.LoomAgent {
	w.Helper()
	return edit(w, name, func(agent *v1alpha1.LoomAgent) {
		mark := guard.Mark{UID: agent.UID, Generation: agent.Generation, Job: workload.JobName(agent), Attempt: time.Now().Add(-time.Hour).UTC().Truncate(time.Second)}
		change(&mark)
		agent.Annotations = map[string]string{v1alpha1.CreatePendingAnnotation: mark.String()}
	})
}

// ownJob is the Job that the operator would make.
func (w world) ownJob(agent *v1alpha1.LoomAgent) *batchv1.Job {
	w.Helper()
	job := workload.Job(workload.Input{Agent: agent})
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(agent, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	return job
}

// A19: the Job of a create whose answer was lost is adopted.
func TestA19MarkedJobIsAdopted(t *testing.T) {
	w := quietWorld(t)
	w.create("c", command())
	agent := w.marked("c", func(*guard.Mark) {})
	job := w.ownJob(agent)
	w.make(job)

	harness.StartOperator(t, w.cluster)
	w.completed("c")

	after := w.agent("c")
	assert.Equal(t, job.UID, after.Status.Workload.UID)
	assert.NotContains(t, after.Annotations, v1alpha1.CreatePendingAnnotation)
	assert.Len(t, w.jobs(), 1)
}

// A36: a marked create that left no Job has started nothing, since a Job that
// is not recorded is suspended. A mark that belongs to another object or to
// another generation means nothing.
func TestA36MarkWithoutAJobLeadsToOneRun(t *testing.T) {
	for name, change := range map[string]func(*guard.Mark){
		"its own":                 func(*guard.Mark) {},
		"of another agent":        func(mark *guard.Mark) { mark.UID = "of-a-backup" },
		"of a former generation":  func(mark *guard.Mark) { mark.Generation = 7 },
		"of another Job's name":   func(mark *guard.Mark) { mark.Job = "other" },
		"of a future that is far": func(mark *guard.Mark) { mark.Attempt = time.Now().Add(1000 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			w := quietWorld(t)
			w.create("c", command())
			w.marked("c", change)

			harness.StartOperator(t, w.cluster)
			w.completed("c")

			assert.Len(t, w.jobs(), 1)
		})
	}
}

// A restored status names a Job that is not there: its run cannot be repeated.
func TestRunIsLostWhenItsJobVanishes(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	w.pod("c")
	job := w.await("c", "runs", hasWorkload("Job")).Status.Workload.Name

	w.remove(get[batchv1.Job](w, job))
	agent := w.await("c", "has lost its run", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonRunLost))

	assert.Equal(t, new(v1alpha1.ReasonRunLost), agent.Status.Run.Reason)
	assert.Nil(t, agent.Status.Run.ExitCode)
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), job)
	assert.Empty(t, w.jobs())
}

// A status that a backup tool wiped: the start on the agent still tells.
func TestWipedStatusDoesNotRepeatTheRun(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	pod := w.pod("c")
	agent := w.await("c", "runs", hasWorkload("Job"), state(v1alpha1.StateRunning))
	job := agent.Status.Workload.UID

	wipe := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/status", "value": {}}]`))
	require.NoError(t, w.Status().Patch(t.Context(), agent, wipe))
	edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"touched": "yes"} })
	after := w.await("c", "runs on", hasWorkload("Job"), state(v1alpha1.StateRunning))
	w.ends(pod, exit(0))
	w.await("c", "has completed", state(v1alpha1.StateCompleted))

	assert.Equal(t, job, after.Status.Workload.UID)
	assert.Len(t, w.jobs(), 1)
}

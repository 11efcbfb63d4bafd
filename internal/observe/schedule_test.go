package observe

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// tick is a Job of the schedule, of generation 3, with a UID like its name.
func tick(name string, conditions ...batchv1.JobCondition) batchv1.Job {
	j := job(conditions...)
	j.Name, j.UID = name, types.UID(name)
	j.OwnerReferences = controlledBy(cronUID)
	j.Annotations = map[string]string{v1alpha1.GenerationAnnotation: "3"}
	return *j
}

// at finishes a Job at this second.
func at(n int, condition batchv1.JobCondition) batchv1.JobCondition {
	condition.LastTransitionTime = second(n)
	return condition
}

func of(uid types.UID, pod corev1.Pod) corev1.Pod {
	pod.Name = string(uid) + "-abcde"
	pod.OwnerReferences = controlledBy(uid)
	return pod
}

func schedule(jobs ...batchv1.Job) ScheduleFacts {
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "t", UID: cronUID},
		Spec:       batchv1.CronJobSpec{ConcurrencyPolicy: batchv1.ForbidConcurrent},
	}
	return ScheduleFacts{Name: "t", Generation: 3, CronJob: cronJob, Jobs: jobs}
}

func recordedUntil(n int, uids ...types.UID) *v1alpha1.RecordedRuns {
	return &v1alpha1.RecordedRuns{FinishedAt: second(n), UIDs: uids}
}

func TestScheduleRecordsEachRunOnceInOrder(t *testing.T) {
	former := tick("t-former", at(9, complete))
	former.Annotations[v1alpha1.GenerationAnnotation] = "2"
	foreign := tick("t-foreign", at(9, complete))
	foreign.OwnerReferences = controlledBy("other")
	cases := map[string]struct {
		jobs     []batchv1.Job
		recorded *v1alpha1.RecordedRuns
		runs     []types.UID
		mark     *v1alpha1.RecordedRuns
	}{
		"no run yet":                         {nil, nil, nil, nil},
		"an active run":                      {[]batchv1.Job{tick("t-1")}, nil, nil, nil},
		"two runs in the order of their end": {[]batchv1.Job{tick("t-1", at(20, complete)), tick("t-2", at(10, failedJob))}, nil, []types.UID{"t-2", "t-1"}, recordedUntil(20, "t-1")},
		"all recorded":                       {[]batchv1.Job{tick("t-1", at(20, complete)), tick("t-2", at(10, complete))}, recordedUntil(20, "t-1"), nil, recordedUntil(20, "t-1")},
		"one is new":                         {[]batchv1.Job{tick("t-1", at(20, complete)), tick("t-2", at(30, complete))}, recordedUntil(20, "t-1"), []types.UID{"t-2"}, recordedUntil(30, "t-2")},
		"two ended in one second":            {[]batchv1.Job{tick("t-2", at(20, complete)), tick("t-1", at(20, complete))}, nil, []types.UID{"t-1", "t-2"}, recordedUntil(20, "t-1", "t-2")},
		"second of two in one second":        {[]batchv1.Job{tick("t-1", at(20, complete)), tick("t-2", at(20, complete))}, recordedUntil(20, "t-1"), []types.UID{"t-2"}, recordedUntil(20, "t-1", "t-2")},
		"former generation and foreign Job":  {[]batchv1.Job{former, foreign}, nil, nil, nil},
		"seen late, lastRun never goes back": {[]batchv1.Job{tick("t-1", at(10, complete))}, recordedUntil(20, "t-2"), nil, recordedUntil(20, "t-2")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := schedule(c.jobs...)
			facts.Recorded = c.recorded
			view := Schedule(facts)
			var runs []types.UID
			for _, run := range view.Finished {
				runs = append(runs, run.UID)
			}
			assert.Equal(t, c.runs, runs)
			assert.Equal(t, c.mark, view.Recorded)

			facts.Recorded = view.Recorded
			again := Schedule(facts)
			assert.Empty(t, again.Finished, "each run is recorded once")
			assert.Equal(t, view.Recorded, again.Recorded)
		})
	}
}

func TestA07ScheduledRunCarriesItsEnd(t *testing.T) {
	facts := schedule(tick("t-1", failedJob))
	facts.Pods = []corev1.Pod{of("t-1", runPod(corev1.PodFailed, exited(137, "OOMKilled")))}
	view := Schedule(facts)
	require.Len(t, view.Finished, 1)
	run := view.Finished[0]
	assert.Equal(t, lifecycle.ObserveScheduledRun{Name: "t", Phase: lifecycle.RunFailed, End: end(new(int32(137)), 30, "OOMKilled")}, run.Observation)
	assert.Equal(t, v1alpha1.ReasonOOMKilled, run.Cause.Reason)
	assert.Equal(t, second(50), run.FinishedAt, "A59: the Job's time")
}

func TestScheduleBlocked(t *testing.T) {
	stuck := of("t-1", runPod(corev1.PodPending, waitingFor("ImagePullBackOff", "")))
	former := tick("t-1")
	former.Annotations[v1alpha1.GenerationAnnotation] = "2"
	cases := map[string]struct {
		job      batchv1.Job
		policy   batchv1.ConcurrencyPolicy
		pods     []corev1.Pod
		events   []corev1.Event
		reason   string
		contains []string
	}{
		"running":                             {tick("t-1"), batchv1.ForbidConcurrent, []corev1.Pod{of("t-1", runPod(corev1.PodRunning, running))}, nil, "", nil},
		"A29 bad image":                       {tick("t-1"), batchv1.ForbidConcurrent, []corev1.Pod{stuck}, nil, v1alpha1.ReasonRunBlocked, []string{"Run t-1", "skipped", image, v1alpha1.ReasonImagePullFailed}},
		"A29 stuck in its deletion":           {tick("t-1"), batchv1.ForbidConcurrent, []corev1.Pod{of("t-1", runPod(corev1.PodRunning, running, deleted))}, nil, v1alpha1.ReasonRunBlocked, []string{"is being deleted"}},
		"A29 run of a former generation":      {former, batchv1.ForbidConcurrent, []corev1.Pod{stuck}, nil, v1alpha1.ReasonRunBlocked, []string{"former document", `"kubectl -n t delete job t-1"`}},
		"A25 quota":                           {tick("t-1"), batchv1.ForbidConcurrent, nil, []corev1.Event{failedCreateEvent(1, "exceeded quota: small")}, v1alpha1.ReasonRunBlocked, []string{"exceeded quota: small"}},
		"bad image where runs skip no others": {tick("t-1"), batchv1.AllowConcurrent, []corev1.Pod{stuck}, nil, v1alpha1.ReasonImagePullFailed, []string{image}},
		"policy that the API server defaults": {tick("t-1"), "", []corev1.Pod{stuck}, nil, v1alpha1.ReasonImagePullFailed, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := schedule(c.job, tick("t-0", at(5, complete)))
			facts.CronJob.Spec.ConcurrencyPolicy = c.policy
			facts.Pods = c.pods
			facts.Events = map[types.UID][]corev1.Event{"t-1": c.events}
			view := Schedule(facts)
			assert.Equal(t, c.reason, view.Blocked.Reason, view.Blocked.Message)
			for _, text := range c.contains {
				assert.Contains(t, view.Blocked.Message, text)
			}
			assert.False(t, slices.ContainsFunc(view.Finished, func(r FinishedRun) bool { return r.UID == "t-1" }))
		})
	}
}

// A24: what was taken away is made up for by the schedule itself.
func TestA24DrainedRunOfAScheduleIsFollowedByTheNext(t *testing.T) {
	run := tick("t-1", failedJob)
	run.OwnerReferences[0].Kind = "CronJob"
	facts := schedule(run)
	facts.Pods = []corev1.Pod{of("t-1", runPod(corev1.PodFailed, exited(143, "Error"), withCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "")))}
	view := Schedule(facts)
	require.Len(t, view.Finished, 1)
	assert.Equal(t, v1alpha1.ReasonDisrupted, view.Finished[0].Cause.Reason)
	assert.Contains(t, view.Finished[0].Cause.Message, "its next run")
}

package observe

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// JobFacts is what is known of one run.
type JobFacts struct {
	// Name of the agent.
	Name string
	Job  *batchv1.Job
	// Pods may hold pods of other Jobs: those that the Job controls count. Read
	// them after a Job that has finished, not from a cache: what they do not
	// show is recorded as unknown.
	Pods []corev1.Pod
	// Events of the Job, needed only where NeedsEvents says so.
	Events []corev1.Event
}

// RunView is what the facts say of one run.
type RunView struct {
	// Observation is always filled.
	Observation lifecycle.ObserveRun
	// Finished tells that the Job says Complete or Failed. Counters and phases
	// of pods are never the verdict (case A38).
	Finished bool
	// FinishedAt is when the Job says so, for ordering; zero when it does not.
	FinishedAt time.Time
	// Cause is the reason and message for the run's condition. It is never zero.
	Cause Cause
	// ExtraPods tells that more pods started than the Job may start one after
	// another, so that the program may have run twice (case A44).
	ExtraPods bool
}

// Job judges one run.
func Job(f JobFacts) RunView {
	view := RunView{Observation: lifecycle.ObserveRun{Name: f.Name, Phase: lifecycle.RunActive}}
	pods := ownedBy(f.Pods, f.Job.UID)
	view.ExtraPods = startedPods(f.Job, pods) > 1+int(backoffLimit(f.Job))
	if end := verdict(f.Job); end != nil {
		view.Finished = true
		view.FinishedAt = end.LastTransitionTime.Time
		view.Observation.Phase, view.Observation.End, view.Cause = finish(f.Job, end, pods)
	} else {
		view.Cause = active(f.Job, pods, f.Events)
	}
	if view.ExtraPods {
		view.Cause = view.Cause.and(fmt.Sprintf("More pods started than Job %s may start: the program may have run more than once.", f.Job.Name))
	}
	return view
}

// NeedsEvents tells that only the Events of a Job can say why it does not go
// on: it has no pod although it should, and no condition for that (case A25).
// The Job controller sets the start time when it has tried to make a pod, also
// when that failed; before that there is nothing to read.
func NeedsEvents(job *batchv1.Job, pods []corev1.Pod) bool {
	return job.Status.StartTime != nil && verdict(job) == nil && !suspended(job) &&
		job.Status.Active == 0 && len(ownedBy(pods, job.UID)) == 0
}

// Ended tells whether the Job has ended, well or not.
func Ended(job *batchv1.Job) bool { return verdict(job) != nil }

// Unstarted tells that the program of a run has not started and that something
// keeps it from starting: removing such a run takes nothing away. Read the pods
// past the cache, and the Events where NeedsEvents says so. Without a pod it
// takes an Event that tells of a refused one, since the Job controller may be
// about to make the first.
func Unstarted(job *batchv1.Job, pods []corev1.Pod, events []corev1.Event) bool {
	if NeedsEvents(job, pods) {
		_, refused := lastRefusal(events)
		return refused && startedPods(job, nil) == 0 && uncounted(job) == 0
	}
	held := false
	for _, pod := range ownedBy(pods, job.UID) {
		status := agentStatus(pod)
		if status != nil && (status.State.Running != nil || lastEnd(status) != nil) {
			return false
		}
		held = held || Pod(pod) != (Cause{})
	}
	return held && !Ended(job)
}

// uncounted is how many pods have ended that the Job does not count yet. They
// may be gone.
func uncounted(job *batchv1.Job) int {
	pods := job.Status.UncountedTerminatedPods
	if pods == nil {
		return 0
	}
	return len(pods.Succeeded) + len(pods.Failed)
}

// NeedsPods tells that a finished Job's pods have to be read past the cache
// before its end is recorded for good: the watch of pods may lag behind that of
// Jobs, so that the container that tells the end, or the last of several tries,
// is not there yet.
func NeedsPods(job *batchv1.Job, pods []corev1.Pod) bool {
	view := Job(JobFacts{Job: job, Pods: pods})
	told := slices.ContainsFunc(ownedBy(pods, job.UID), func(pod *corev1.Pod) bool { return agentEnd(pod) != nil })
	return view.Finished && (!told || view.Observation.End.ExitCode == nil || backoffLimit(job) > 0)
}

// verdict is the condition that ends a Job; nil while it goes on. The API
// server allows one of the two; should both be there, the worse one counts.
func verdict(job *batchv1.Job) *batchv1.JobCondition {
	if failed := jobCondition(job, batchv1.JobFailed); failed != nil {
		return failed
	}
	return jobCondition(job, batchv1.JobComplete)
}

// jobCondition returns the condition if it is True.
func jobCondition(job *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == of && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// backoffLimit is how many failed pods the Job replaces. The API server's
// default is 6.
func backoffLimit(job *batchv1.Job) int32 {
	if job.Spec.BackoffLimit == nil {
		return 6
	}
	return max(0, *job.Spec.BackoffLimit)
}

// startedPods counts the pods of a Job, those that are gone included: the
// controller counts a pod before it lets it go.
func startedPods(job *batchv1.Job, pods []*corev1.Pod) int {
	return max(len(pods), int(job.Status.Active)+int(job.Status.Succeeded)+int(job.Status.Failed))
}

// active says what a Job that goes on is doing, or what holds it up.
func active(job *batchv1.Job, pods []*corev1.Pod, events []corev1.Event) Cause {
	if suspended(job) {
		return Cause{v1alpha1.ReasonJobSuspended, fmt.Sprintf("Job %[1]s is suspended by somebody else, such as a queue or a person. It runs when that resumes it; by hand, run: kubectl -n %[2]s patch job %[1]s -p '{\"spec\":{\"suspend\":false}}' .", job.Name, job.Namespace)}
	}
	if target := jobCondition(job, batchv1.JobFailureTarget); target != nil && target.Reason == batchv1.JobReasonDeadlineExceeded {
		return deadlineExceeded(job)
	}
	for _, pod := range pods {
		if cause := Pod(pod); cause != (Cause{}) && !finished(pod) {
			return cause
		}
	}
	if text, ok := lastRefusal(events); ok && len(pods) == 0 && job.Status.Active == 0 {
		return forbidden("Job", job.Name, text)
	}
	return Underway(job.Name)
}

// Underway is the cause of a run that goes on without trouble. It is the same
// from the record of its Job to its end, so that the status is not written
// again in between.
func Underway(job string) Cause {
	return Cause{v1alpha1.ReasonRunning, fmt.Sprintf("Job %s is being run and has not ended.", job)}
}

func deadlineExceeded(job *batchv1.Job) Cause {
	limit := "its deadline"
	if job.Spec.ActiveDeadlineSeconds != nil {
		limit = fmt.Sprintf("its deadline of %d seconds", *job.Spec.ActiveDeadlineSeconds)
	}
	return Cause{v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("Job %s was stopped at %s. Raise run.activeDeadlineSeconds if it needs longer.", job.Name, limit)}
}

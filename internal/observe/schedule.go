package observe

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// ScheduleFacts is what is known of the runs of a schedule.
type ScheduleFacts struct {
	// Name and Generation of the agent.
	Name       string
	Generation int64
	CronJob    *batchv1.CronJob
	// Jobs and Pods may hold those of others: what the CronJob controls counts.
	// As for JobFacts, read the pods of a finished Job after the Job.
	Jobs []batchv1.Job
	Pods []corev1.Pod
	// Events by the UID of their Job, for Jobs where NeedsEvents says so.
	Events map[types.UID][]corev1.Event
	// Recorded marks the runs that are recorded; nil when none is.
	Recorded *v1alpha1.RecordedRuns
}

// FinishedRun is a run that ended and is not recorded.
type FinishedRun struct {
	UID types.UID
	// FinishedAt is when the Job says that it ended, in whole seconds as the
	// API has them.
	FinishedAt  metav1.Time
	Observation lifecycle.ObserveScheduledRun
	Cause       Cause
}

// ScheduleView is what the facts say of a schedule.
type ScheduleView struct {
	// Finished are the runs of this generation to record, in the order in which
	// they finished. Runs that finished before the newest recorded one are not
	// among them: lastRun never goes back.
	Finished []FinishedRun
	// Recorded is the mark to keep when they are recorded; nil when no run ever
	// finished.
	Recorded *v1alpha1.RecordedRuns
	// Blocked tells why the oldest active run that cannot go on cannot; zero
	// when all can. Runs of former generations count: they keep new ones from
	// starting just the same.
	Blocked Cause
}

// Schedule judges the runs of a schedule. All times are the Jobs' own, so the
// clock of the operator does not matter (case A59).
func Schedule(f ScheduleFacts) ScheduleView {
	view := ScheduleView{Recorded: f.Recorded.DeepCopy()}
	for _, job := range ownedBy(f.Jobs, f.CronJob.UID) {
		run := Job(JobFacts{Name: f.Name, Job: job, Pods: f.Pods, Events: f.Events[job.UID]})
		switch {
		case run.Finished && f.isNew(job, run):
			view.Finished = append(view.Finished, finishedRun(job, run))
		case !run.Finished && view.Blocked == (Cause{}):
			view.Blocked = f.blocked(job, run.Cause)
		}
	}
	// Jobs come oldest first, so equal times keep that order.
	slices.SortStableFunc(view.Finished, func(a, b FinishedRun) int { return a.FinishedAt.Compare(b.FinishedAt.Time) })
	for _, run := range view.Finished {
		view.Recorded = mark(view.Recorded, run)
	}
	return view
}

// isNew tells that a run belongs to this generation and is not recorded.
func (f ScheduleFacts) isNew(job *batchv1.Job, run RunView) bool {
	if f.isFormer(job) {
		return false
	}
	if f.Recorded == nil {
		return true
	}
	switch wholeSeconds(run).Compare(wholeSecond(f.Recorded.FinishedAt).Time) {
	case 0:
		return !slices.Contains(f.Recorded.UIDs, job.UID)
	case 1:
		return true
	default:
		return false
	}
}

// isFormer tells that a run was started from another generation's document.
func (f ScheduleFacts) isFormer(job *batchv1.Job) bool {
	return job.Annotations[v1alpha1.GenerationAnnotation] != strconv.FormatInt(f.Generation, 10)
}

func finishedRun(job *batchv1.Job, run RunView) FinishedRun {
	return FinishedRun{
		UID:         job.UID,
		FinishedAt:  wholeSeconds(run),
		Observation: lifecycle.ObserveScheduledRun(run.Observation),
		Cause:       run.Cause,
	}
}

func wholeSeconds(run RunView) metav1.Time { return wholeSecond(metav1.NewTime(run.FinishedAt)) }

// wholeSecond is the time as it is after a trip through the API.
func wholeSecond(t metav1.Time) metav1.Time { return t.Rfc3339Copy() }

// mark moves the mark on by one run.
func mark(recorded *v1alpha1.RecordedRuns, run FinishedRun) *v1alpha1.RecordedRuns {
	if recorded == nil || !wholeSecond(recorded.FinishedAt).Time.Equal(run.FinishedAt.Time) {
		return &v1alpha1.RecordedRuns{FinishedAt: run.FinishedAt, UIDs: []types.UID{run.UID}}
	}
	recorded.UIDs = append(recorded.UIDs, run.UID)
	slices.Sort(recorded.UIDs)
	return recorded
}

// blocked tells why an active run cannot go on. Under Forbid, runs that are due
// are skipped meanwhile, and that is the news (case A29).
func (f ScheduleFacts) blocked(job *batchv1.Job, cause Cause) Cause {
	if cause.Reason == v1alpha1.ReasonRunning {
		return Cause{}
	}
	if f.CronJob.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		return cause
	}
	told := Cause{v1alpha1.ReasonRunBlocked, fmt.Sprintf("Run %s cannot go on, and runs that are due are skipped until it ends (%s): %s", job.Name, cause.Reason, cause.Message)}
	if f.isFormer(job) {
		told = told.and(fmt.Sprintf("It is a run of a former document, which an edit does not change: to let the present document run, delete it with \"kubectl -n %s delete job %s\".", job.Namespace, job.Name))
	}
	return told
}

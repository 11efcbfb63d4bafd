package scheduled

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// afterTick is how long after a run was due the agent is looked at again.
const afterTick = 10 * time.Second

// watch observes the CronJob, if there is one, and writes no child.
func (s schedule) watch(ctx context.Context, pass *journal.Pass) error {
	reportLastRun(pass, nil)
	agent, cronJob := pass.Object(), &batchv1.CronJob{}
	key := client.ObjectKey{Namespace: agent.Namespace, Name: workload.CronJobName(agent)}
	err := s.Client.Get(ctx, key, cronJob)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read CronJob %q: %w", key.Name, err)
	}
	if recorded := agent.Status.Workload; recorded == nil || recorded.UID != cronJob.UID {
		return nil
	}
	return s.observe(ctx, pass, cronJob)
}

// observe records the runs that have finished, each once and in the order they
// finished, and ends the pass with the reason why the schedule is not in
// force, if it is not.
func (s schedule) observe(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob) error {
	facts, err := s.facts(ctx, pass, cronJob)
	if err != nil {
		return err
	}
	view := observe.Schedule(facts)
	for _, run := range view.Finished {
		if err := journal.Observe(pass, run.Observation); err != nil {
			return err
		}
	}
	agent, next := pass.Object(), nextRun(pass, cronJob)
	agent.Status.NextRun = next
	if agent.Status.Workload != nil {
		agent.Status.Workload.Recorded = view.Recorded
	}
	reportLastRun(pass, view.Finished)
	switch {
	case agent.Suspended():
		return intake.Resting()
	case cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend:
		return intake.RestingFor("spec.schedule.suspend")
	case view.Blocked.Reason != "":
		return stages.Wait(view.Blocked.Reason, view.Blocked.Message, 0)
	}
	if next != nil {
		// A run that is skipped changes nothing that a watch could report.
		pass.RequeueAfter(next.Sub(pass.Now()) + afterTick)
	}
	pass.Reached(v1alpha1.ReasonScheduled, inForce(cronJob))
	return nil
}

// facts reads the runs, their pods and, where only they can tell, their Events.
// Pods are needed only while there are runs.
func (s schedule) facts(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob) (observe.ScheduleFacts, error) {
	agent := pass.Object()
	facts := observe.ScheduleFacts{Name: agent.Name, Generation: agent.Generation, CronJob: cronJob, Events: map[types.UID][]corev1.Event{}}
	if agent.Status.Workload != nil {
		facts.Recorded = agent.Status.Workload.Recorded
	}
	var err error
	if facts.Jobs, err = s.jobs(ctx, pass, cronJob); err != nil || len(facts.Jobs) == 0 {
		return facts, err
	}
	if facts.Pods, err = gather.Pods(ctx, s.Client, agent); err != nil {
		return facts, err
	}
	if err := s.readPods(ctx, &facts); err != nil {
		return facts, err
	}
	return facts, s.readEvents(ctx, pass, &facts)
}

// jobs lists the runs that the CronJob has started.
func (s schedule) jobs(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob) ([]batchv1.Job, error) {
	var jobs batchv1.JobList
	if err := s.Client.List(ctx, &jobs, client.InNamespace(pass.Object().Namespace), client.MatchingFields{children.OwnerIndex: string(cronJob.UID)}); err != nil {
		return nil, fmt.Errorf("list the Jobs of CronJob %q: %w", cronJob.Name, err)
	}
	return jobs.Items, nil
}

// readPods reads the pods of runs that are about to be recorded past the
// cache, where that is needed.
func (s schedule) readPods(ctx context.Context, facts *observe.ScheduleFacts) error {
	due := map[types.UID]bool{}
	for _, run := range observe.Schedule(*facts).Finished {
		due[run.UID] = true
	}
	for i := range facts.Jobs {
		job := &facts.Jobs[i]
		if !due[job.UID] || !observe.NeedsPods(job, facts.Pods) {
			continue
		}
		pods, err := gather.LivePods(ctx, s.Live, job)
		if err != nil {
			return children.Explain(err, "list", "the pods of Job", job.Name)
		}
		facts.Pods = append(others(facts.Pods, job), pods...)
	}
	return nil
}

// readEvents reads the Events of Jobs that have no pod to tell their trouble.
// The Job controller sends an Event beside the Job's status, so it may come
// later than what woke this pass, and nothing tells when it does.
func (s schedule) readEvents(ctx context.Context, pass *journal.Pass, facts *observe.ScheduleFacts) error {
	for i := range facts.Jobs {
		job := &facts.Jobs[i]
		if !observe.NeedsEvents(job, facts.Pods) {
			continue
		}
		events, err := gather.JobEvents(ctx, s.Live, job)
		if err != nil {
			return children.Explain(err, "list", "the Events of Job", job.Name)
		}
		facts.Events[job.UID] = events
		if len(events) == 0 {
			pass.RequeueAfter(stages.DefaultWait)
		}
	}
	return nil
}

// others returns the pods that the Job does not control.
func others(pods []corev1.Pod, job *batchv1.Job) []corev1.Pod {
	var kept []corev1.Pod
	for _, pod := range pods {
		if !metav1.IsControlledBy(&pod, job) {
			kept = append(kept, pod)
		}
	}
	return kept
}

// nextRun is when Kubernetes starts the next run. It changes with each run and
// at no other time.
func nextRun(pass *journal.Pass, cronJob *batchv1.CronJob) *metav1.Time {
	if cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend {
		return nil
	}
	after := pass.Now()
	if last := cronJob.Status.LastScheduleTime; last != nil && last.After(after) {
		after = last.Time
	}
	next, ok := check.NextRun(pass.Object().Spec.Schedule, after)
	if !ok {
		return nil
	}
	return &metav1.Time{Time: next}
}

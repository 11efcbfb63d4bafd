package command

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// watch observes the recorded Job, if it is there, and writes nothing to it.
func (c command) watch(ctx context.Context, pass *journal.Pass) error {
	recorded := pass.Object().Status.Workload
	if recorded == nil {
		return nil
	}
	job, err := c.cached(ctx, pass, recorded.Name)
	if err != nil || job == nil || job.UID != recorded.UID {
		return err
	}
	return c.observe(ctx, pass, job)
}

// follow resumes the recorded Job, once, and observes it.
//
// The start is written before the Job is resumed and takes the place of the
// mark: from here on the generation counts as started, also for a later pass
// that finds the status wiped.
func (c command) follow(ctx context.Context, pass *journal.Pass, job *batchv1.Job, config *corev1.ConfigMap) error {
	agent := pass.Object()
	if agent.Status.Workload == nil {
		return c.record(pass, job)
	}
	if config != nil && workload.Mounts(job.Spec.Template.Spec, config.Name) {
		if err := children.Ensure(ctx, pass, config); err != nil {
			return err
		}
	}
	if _, started := guard.StartOf(agent); !started {
		start := guard.Start{UID: agent.UID, Generation: agent.Generation, Job: job.UID}
		metav1.SetMetaDataAnnotation(&agent.ObjectMeta, v1alpha1.RunAnnotation, start.String())
		if err := unmark(ctx, pass); err != nil {
			return err
		}
	}
	if _, resumed := job.Annotations[v1alpha1.ResumedAnnotation]; !resumed {
		if err := c.resume(ctx, agent, job); err != nil {
			return err
		}
		if err := journal.Observe(pass, lifecycle.ObserveRun{Name: agent.Name, Phase: lifecycle.RunActive}); err != nil {
			return err
		}
		return underway(job, stages.DefaultWait)
	}
	return c.observe(ctx, pass, job)
}

// resume lets the Job start its pod, or hands the suspended Job to the queue
// that the agent names, which starts it in its turn. It marks the Job so that
// this happens once: whoever suspends it later keeps it suspended (case A47).
func (c command) resume(ctx context.Context, agent *v1alpha1.LoomAgent, job *batchv1.Job) error {
	return c.patch(ctx, job, func(job *batchv1.Job) {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.ResumedAnnotation, "true")
		if queue, queued := agent.Labels[v1alpha1.QueueLabel]; queued {
			metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha1.QueueLabel, queue)
			return
		}
		job.Spec.Suspend = new(false)
	})
}

// observe turns the Job and its pods into the agent's state.
func (c command) observe(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	view, err := c.view(ctx, pass, job)
	if err != nil {
		return err
	}
	if !view.Finished {
		return stages.Wait(view.Cause.Reason, view.Cause.Message, 0)
	}
	if err := journal.Observe(pass, view.Observation); err != nil {
		return err
	}
	stages.Put(pass, view.Cause)
	pass.RequeueAfter(tidyAfter)
	return verdict(pass)
}

// view reads the pods and, where only they can tell, the Events of the Job.
func (c command) view(ctx context.Context, pass *journal.Pass, job *batchv1.Job) (observe.RunView, error) {
	facts := observe.JobFacts{Name: pass.Object().Name, Job: job}
	var err error
	if facts.Pods, err = gather.Pods(ctx, c.Client, pass.Object()); err != nil {
		return observe.RunView{}, err
	}
	if observe.NeedsPods(job, facts.Pods) {
		if facts.Pods, err = gather.LivePods(ctx, c.Live, job); err != nil {
			return observe.RunView{}, children.Explain(err, "list", "the pods of Job", job.Name)
		}
	}
	if observe.NeedsEvents(job, facts.Pods) {
		if facts.Events, err = gather.JobEvents(ctx, c.Live, job); err != nil {
			return observe.RunView{}, children.Explain(err, "list", "the Events of Job", job.Name)
		}
	}
	return observe.Job(facts), nil
}

// ended tells whether the end of this generation's run is recorded.
func ended(agent *v1alpha1.LoomAgent, _ *journal.Pass) bool {
	return agent.Status.State == v1alpha1.StateCompleted || agent.Status.State == v1alpha1.StateFailed
}

// verdict reports the recorded end. The reason and message of the pass that
// recorded it stay; where a failed pass has written over them, the record
// itself still tells how the run ended.
func verdict(pass *journal.Pass) error {
	agent := pass.Object()
	completed := agent.Status.State == v1alpha1.StateCompleted
	cause, fresh := stages.Value[observe.Cause](pass)
	if !fresh {
		kept, _ := stages.GetCondition(agent, v1alpha1.ConditionCompleted)
		cause = observe.Cause{Reason: kept.Reason, Message: kept.Message}
		if kept.Status != statusOf(completed) || kept.Reason == v1alpha1.ReasonReconcileError {
			cause = observe.Recorded(agent.Status.Run, completed)
		}
	}
	if completed {
		pass.Reached(cause.Reason, cause.Message)
		return nil
	}
	return stages.Stop(cause.Reason, cause.Message)
}

func statusOf(completed bool) metav1.ConditionStatus {
	if completed {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

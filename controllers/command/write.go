package command

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// write brings the run of this generation forward by as many steps of the
// guard as can be taken now.
func (c command) write(ctx context.Context, pass *journal.Pass) error {
	in := c.Input(pass)
	policy, config, job := workload.NetworkPolicy(in), workload.Config(in), workload.Job(in)
	if err := c.Children.Workloads(ctx, pass, children.Named(job)); err != nil {
		return err
	}
	if err := c.Children.Attachments(ctx, pass, children.Named(children.Present(policy, config)...)); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, policy); err != nil {
		return err
	}
	step, found, err := c.next(ctx, pass, job.Name)
	if err != nil {
		return err
	}
	if step == guard.Yield {
		return children.Taken("Job", job.Name, children.Controller(found))
	}
	if step == guard.Create {
		if err := children.Ensure(ctx, pass, config); err != nil {
			return err
		}
	}
	if err := intake.Admit(pass); err != nil {
		return err
	}
	return c.take(ctx, pass, step, job, found)
}

// take takes one step with the Job as it should be and as it was found.
func (c command) take(ctx context.Context, pass *journal.Pass, step guard.Step, job, found *batchv1.Job) error {
	switch step {
	case guard.Create:
		return c.create(ctx, pass, job)
	case guard.Adopt:
		return c.record(pass, found)
	case guard.Follow:
		return c.follow(ctx, pass, found)
	case guard.Discard:
		return c.discard(ctx, pass, found)
	default:
		return c.lose(pass, job.Name)
	}
}

// suspended keeps a run from being started. Suspending is a new generation, so
// a run of the former one, if it is still active, ends with it.
func (c command) suspended(ctx context.Context, pass *journal.Pass) error {
	if err := c.Children.Workloads(ctx, pass, func(client.Object) bool { return false }); err != nil {
		return err
	}
	return intake.Resting()
}

// ended keeps what the end of the run leaves behind as the document wants it.
// A Job that is missing by now is not missed (case A01).
func (c command) ended(ctx context.Context, pass *journal.Pass) error {
	agent := pass.Object()
	if !agent.Paused() {
		if err := c.expire(ctx, pass); err != nil {
			return err
		}
	}
	return verdict(pass)
}

// expire hands the Job to Kubernetes' TTL controller, now that its end is
// recorded.
func (c command) expire(ctx context.Context, pass *journal.Pass) error {
	agent := pass.Object()
	ttl := workload.TTL(agent)
	if ttl == nil || agent.Status.Workload == nil {
		return nil
	}
	job, err := c.cached(ctx, pass, agent.Status.Workload.Name)
	if err != nil || job == nil || job.UID != agent.Status.Workload.UID || !job.DeletionTimestamp.IsZero() {
		return err
	}
	if job.Spec.TTLSecondsAfterFinished != nil && *job.Spec.TTLSecondsAfterFinished == *ttl {
		return nil
	}
	return c.patch(ctx, job, func(job *batchv1.Job) { job.Spec.TTLSecondsAfterFinished = ttl })
}

// patch changes a Job of ours, on the version that was read.
func (c command) patch(ctx context.Context, job *batchv1.Job, change func(*batchv1.Job)) error {
	changed := job.DeepCopy()
	change(changed)
	from := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})
	err := c.Client.Patch(ctx, changed, from, client.FieldOwner(v1alpha1.FieldOwner))
	return children.Explain(client.IgnoreNotFound(err), "change", "Job", job.Name)
}

// discard removes a suspended Job that a pass made over an outdated view.
func (c command) discard(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	err := c.Client.Delete(ctx, job, client.PropagationPolicy("Foreground"), client.Preconditions{UID: &job.UID})
	if err := children.Explain(client.IgnoreNotFound(err), "delete", "Job", job.Name); err != nil {
		return err
	}
	pass.Event("DuplicateDiscarded", fmt.Sprintf("Removed Job %q (UID %s): it was made over an outdated view, was suspended and has not run.", job.Name, job.UID), stages.Action("Discard"), stages.Warning())
	return c.lose(pass, job.Name)
}

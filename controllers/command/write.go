package command

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	job := workload.Job(in)
	if err := c.Children.Workloads(ctx, pass, children.Named(job)); err != nil {
		return err
	}
	if err := c.Children.Guardrail(ctx, pass, workload.NetworkPolicy(in)); err != nil {
		return err
	}
	step, found, err := c.next(ctx, pass, job.Name)
	if err != nil {
		return err
	}
	switch step {
	case guard.Yield:
		return c.yield(ctx, pass, found)
	case guard.Create:
		if err := c.prepare(ctx, pass, in); err != nil {
			return err
		}
		return c.create(ctx, pass, job)
	case guard.Adopt:
		return c.record(pass, found)
	default:
		return c.goOn(ctx, pass, step, found, in)
	}
}

// goOn takes the steps of a run that was started before.
func (c command) goOn(ctx context.Context, pass *journal.Pass, step guard.Step, found *batchv1.Job, in workload.Input) error {
	if err := intake.Admit(pass); err != nil {
		return err
	}
	switch step {
	case guard.Follow:
		return c.follow(ctx, pass, found, workload.Config(in))
	case guard.Discard:
		if err := c.discard(ctx, pass, found); err != nil {
			return err
		}
		return c.lose(pass, found.Name)
	default:
		return c.lose(pass, workload.JobName(in.Agent))
	}
}

// prepare writes what the Job will mount, and removes what only an earlier Job
// mounted.
func (c command) prepare(ctx context.Context, pass *journal.Pass, in workload.Input) error {
	if err := c.tidy(ctx, pass, in); err != nil {
		return err
	}
	return children.Ensure(ctx, pass, workload.Config(in))
}

// tidy removes what only an earlier document needed.
func (c command) tidy(ctx context.Context, pass *journal.Pass, in workload.Input) error {
	return c.Children.Attachments(ctx, pass, children.Named(children.Present(workload.NetworkPolicy(in), workload.Config(in))...))
}

// suspended keeps a run from being started. Suspending is a new generation, so
// a run of the former one, if it is still active, ends with it.
func (c command) suspended(ctx context.Context, pass *journal.Pass) error {
	if err := c.Children.Workloads(ctx, pass, func(client.Object) bool { return false }); err != nil {
		return err
	}
	// Nothing mounts the configuration until the run is prepared anew.
	policy := workload.NetworkPolicy(c.Input(pass))
	if err := c.Children.Attachments(ctx, pass, children.Named(children.Present(policy)...)); err != nil {
		return err
	}
	return intake.Resting()
}

// ended keeps what the end of the run leaves behind as the document wants it.
// A Job that is missing by now is not missed (case A01), and trouble with what
// is left of it does not change how the run ended.
func (c command) ended(ctx context.Context, pass *journal.Pass) error {
	if !pass.Object().Paused() {
		// A cache that lagged when the run was prepared may show only now what
		// an earlier document left.
		err := c.tidy(ctx, pass, c.Input(pass))
		if err == nil {
			err = c.expire(ctx, pass)
		}
		if apierrors.IsConflict(err) {
			return err
		}
		if err != nil {
			pass.Event(corev1.EventTypeWarning, "NotTidied", "Tidy", fmt.Sprintf("What the ended run leaves behind could not be removed: %s.", children.ServerText(err)))
		}
	}
	return verdict(pass)
}

// tidyAfter is how soon after the end was recorded another pass removes what is
// left over and applies the TTL. Nothing else need wake the agent then.
const tidyAfter = time.Second

// expire hands the Job to Kubernetes' TTL controller, now that its end is
// recorded. Another Job of ours under its name is discarded: who resumed it
// would run the generation again.
func (c command) expire(ctx context.Context, pass *journal.Pass) error {
	agent := pass.Object()
	job, err := c.cached(ctx, pass, workload.JobName(agent))
	if err != nil || job == nil || !job.DeletionTimestamp.IsZero() {
		return err
	}
	if facts := factsOf(pass, job); facts.Found.UID != facts.Recorded {
		if facts.Found.Ours {
			return c.discard(ctx, pass, job)
		}
		return nil
	}
	ttl := workload.TTL(agent)
	if ttl == nil || job.Spec.TTLSecondsAfterFinished != nil && *job.Spec.TTLSecondsAfterFinished == *ttl {
		return nil
	}
	return c.patch(ctx, job, func(job *batchv1.Job) { job.Spec.TTLSecondsAfterFinished = ttl })
}

// patch changes a Job of ours, on the version that was read. The template, which
// is most of a Job and cannot change, is not compared.
func (c command) patch(ctx context.Context, job *batchv1.Job, change func(*batchv1.Job)) error {
	read := *job
	read.Spec.Template = corev1.PodTemplateSpec{}
	changed := read.DeepCopy()
	change(changed)
	from := client.MergeFromWithOptions(&read, client.MergeFromWithOptimisticLock{})
	err := c.Client.Patch(ctx, changed, from, client.FieldOwner(v1alpha1.FieldOwner))
	return children.Explain(client.IgnoreNotFound(err), "change", "Job", job.Name)
}

// discard removes a suspended Job that a pass made over an outdated view. One
// that somebody has let run since is left for a person to look at.
func (c command) discard(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	if job.Spec.Suspend == nil || !*job.Spec.Suspend || job.Status.StartTime != nil {
		return nil
	}
	err := c.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion})
	if err := children.Explain(client.IgnoreNotFound(err), "delete", "Job", job.Name); err != nil {
		return err
	}
	pass.Event(corev1.EventTypeWarning, "DuplicateDiscarded", "Discard", fmt.Sprintf("Removed Job %q (UID %s): it was made over an outdated view, was suspended and has not run.", job.Name, job.UID))
	return nil
}

// yield leaves somebody else's Job alone. The create that was marked, if any,
// did not make it.
func (c command) yield(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	if _, marked := guard.MarkOf(pass.Object()); marked {
		if err := unmark(ctx, pass); err != nil {
			return err
		}
	}
	if metav1.IsControlledBy(job, pass.Object()) {
		return stages.Wait(v1alpha1.ReasonNameTaken, fmt.Sprintf("Job %q of this agent does not carry its generation in the annotation %s any more, so it cannot be told which document it runs. Put the annotation back, or delete the Job; the agent goes on without an edit.", job.Name, v1alpha1.GenerationAnnotation), 0)
	}
	return children.Taken("Job", job.Name, children.Controller(job))
}

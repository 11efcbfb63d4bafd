package command

import (
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// next asks the guard, first with what the cache has and, where that cannot
// decide, with a read past it.
func (c command) next(ctx context.Context, pass *journal.Pass, name string) (guard.Step, *batchv1.Job, error) {
	job, err := c.cached(ctx, pass, name)
	if err != nil {
		return "", nil, err
	}
	step := guard.Next(factsOf(pass, job))
	if step != guard.Look && (step != guard.Create || !wasTaken(pass.Object())) {
		return step, job, nil
	}
	if job, err = c.look(ctx, pass, name); err != nil {
		return "", nil, err
	}
	facts := factsOf(pass, job)
	facts.Live = true
	return guard.Next(facts), job, nil
}

// wasTaken tells that the last pass found somebody else's Job under the name. The
// cache does not show such a Job, and another create would be refused again.
func wasTaken(agent *v1alpha1.LoomAgent) bool {
	kept, _ := stages.GetCondition(agent, v1alpha1.ConditionCompleted)
	return kept.Reason == v1alpha1.ReasonNameTaken && kept.ObservedGeneration == agent.Generation
}

// factsOf puts what is known of the generation's Job before the guard.
func factsOf(pass *journal.Pass, job *batchv1.Job) guard.Facts {
	agent, facts := pass.Object(), guard.Facts{}
	_, facts.Marked = guard.MarkOf(agent)
	if start, ok := guard.StartOf(agent); ok {
		facts.Recorded = start.Job
	}
	if recorded := agent.Status.Workload; recorded != nil {
		facts.Recorded = recorded.UID
	}
	if job != nil {
		generation := strconv.FormatInt(agent.Generation, 10)
		ours := metav1.IsControlledBy(job, agent) && job.Annotations[v1alpha1.GenerationAnnotation] == generation
		facts.Found = &guard.Found{UID: job.UID, Ours: ours}
	}
	return facts
}

// cached reads the Job from the cache; nil when it is not there.
func (c command) cached(ctx context.Context, pass *journal.Pass, name string) (*batchv1.Job, error) {
	return get(ctx, c.Client, client.ObjectKey{Namespace: pass.Object().Namespace, Name: name})
}

// look reads the Job past every cache. While that fails nobody knows whether a
// create that was sent has made a Job, so nothing is created: the status says
// CreateOutcomeUnknown until a read succeeds (seed create-outcome-unknown).
func (c command) look(ctx context.Context, pass *journal.Pass, name string) (*batchv1.Job, error) {
	job, err := get(ctx, c.Live, client.ObjectKey{Namespace: pass.Object().Namespace, Name: name})
	if err == nil {
		return job, nil
	}
	agent := pass.Object()
	mark, marked := guard.MarkOf(agent)
	if !marked {
		return nil, children.Explain(err, "read", "Job", name)
	}
	message := fmt.Sprintf("A create of Job %[1]q was started at %[2]s, and the read that would tell whether it took effect fails: %[3]s. Nothing is created meanwhile. It is read again by itself; check that the operator may get Jobs. To clear it by hand, look with \"kubectl -n %[4]s get job %[1]s\" and, when there is no such Job, run \"kubectl -n %[4]s annotate loomagent %[5]s %[6]s-\".",
		name, mark.Attempt.UTC().Format(time.RFC3339), children.ServerText(err), agent.Namespace, agent.Name, v1alpha1.CreatePendingAnnotation)
	return nil, stages.Fail(v1alpha1.ReasonCreateOutcomeUnknown, message, err)
}

func get(ctx context.Context, reader client.Reader, key client.ObjectKey) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := reader.Get(ctx, key, job)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return job, err
}

// create marks the agent, then creates the suspended Job. The write of the mark
// carries the resource version that the pass works on, so a pass over an
// outdated view cannot start anything. A create that is tried again is marked
// again for that reason.
func (c command) create(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	agent := pass.Object()
	mark := guard.Mark{UID: agent.UID, Generation: agent.Generation, Job: job.Name, Attempt: pass.Now().UTC()}
	metav1.SetMetaDataAnnotation(&agent.ObjectMeta, v1alpha1.CreatePendingAnnotation, mark.String())
	if err := pass.Save(ctx); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(agent, job, c.Client.Scheme()); err != nil {
		return fmt.Errorf("own Job %q: %w", job.Name, err)
	}
	err := c.Client.Create(ctx, job, client.FieldOwner(v1alpha1.FieldOwner))
	switch guard.OutcomeOf(err) {
	case guard.Created:
		return c.record(pass, job)
	case guard.Exists:
		return c.whose(ctx, pass, job)
	case guard.Refused:
		if err := unmark(ctx, pass); err != nil {
			return err
		}
	case guard.Unknown: // The mark stays, so the next pass looks.
	}
	return children.Explain(err, "create", "Job", job.Name)
}

// whose goes on after a create that found the name in use.
func (c command) whose(ctx context.Context, pass *journal.Pass, job *batchv1.Job) error {
	step, found, err := c.next(ctx, pass, job.Name)
	switch {
	case err != nil:
		return err
	case step == guard.Yield:
		return c.yield(ctx, pass, found)
	case step == guard.Adopt:
		return c.record(pass, found)
	default: // It is gone again.
		return underway(job, time.Second)
	}
}

// unmark takes the mark back: no create is on its way.
func unmark(ctx context.Context, pass *journal.Pass) error {
	delete(pass.Object().Annotations, v1alpha1.CreatePendingAnnotation)
	return pass.Save(ctx)
}

// record puts the Job's UID in the status. Only then may it be resumed, which
// the next pass does.
func (c command) record(pass *journal.Pass, job *batchv1.Job) error {
	if err := intake.Admit(pass); err != nil {
		return err
	}
	pass.Object().Status.Workload = &v1alpha1.Workload{Kind: "Job", Name: job.Name, UID: job.UID, Image: image(job)}
	return underway(job, time.Second)
}

// underway ends a pass over a run that has not ended.
func underway(job *batchv1.Job, after time.Duration) error {
	cause := observe.Underway(job.Name)
	return stages.Wait(cause.Reason, cause.Message, after)
}

// lose ends a run whose Job is gone before its end was recorded.
func (c command) lose(pass *journal.Pass, name string) error {
	reason := v1alpha1.ReasonRunLost
	agent := pass.Object()
	if err := journal.Observe(pass, lifecycle.ObserveRun{Name: agent.Name, Phase: lifecycle.RunFailed, End: lifecycle.RunEnd{Reason: &reason}}); err != nil {
		return err
	}
	pass.RequeueAfter(tidyAfter)
	return stages.Stop(v1alpha1.ReasonRunLost, lost(name))
}

func lost(name string) string {
	return fmt.Sprintf("Job %q was removed before its end could be recorded, so how the run ended cannot be known. It is not run again; see what the program did, and change the document to run it anew.", name)
}

func image(job *batchv1.Job) string {
	for _, container := range job.Spec.Template.Spec.Containers {
		if container.Name == v1alpha1.AgentContainer {
			return container.Image
		}
	}
	return ""
}

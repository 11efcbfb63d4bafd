package scheduled

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// write brings the CronJob in line with the document, then observes its runs.
// It never creates a Job and never computes which run was missed: Kubernetes
// alone starts runs (case A59).
func (s schedule) write(ctx context.Context, pass *journal.Pass) error {
	reportLastRun(pass, nil)
	in := s.Input(pass)
	policy, config, cronJob := workload.NetworkPolicy(in), workload.Config(in), workload.CronJob(in)
	if err := s.Children.Workloads(ctx, pass, children.Named(cronJob)); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, config); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, cronJob); err != nil {
		return err
	}
	if err := intake.Admit(pass); err != nil {
		return err
	}
	status := &pass.Object().Status
	former := status.Workload
	status.Workload = &v1alpha1.Workload{Kind: "CronJob", Name: cronJob.Name, UID: cronJob.UID, Image: workload.Image(in)}
	if former != nil {
		status.Workload.Recorded = former.Recorded
	}
	if err := s.release(ctx, pass, cronJob); err != nil {
		return err
	}
	if err := s.tidy(ctx, pass, cronJob, policy, config); err != nil {
		return err
	}
	return s.observe(ctx, pass, cronJob)
}

// release removes runs of a former document that could not start: under Forbid
// they would keep the corrected document from ever running (case A29).
func (s schedule) release(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob) error {
	jobs, err := s.jobs(ctx, pass, cronJob)
	if err != nil {
		return err
	}
	for i := range jobs {
		job := &jobs[i]
		if !former(pass, job) {
			continue
		}
		if unstarted, err := s.unstarted(ctx, job); err != nil {
			return err
		} else if !unstarted {
			continue
		}
		unchanged := client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}
		err := s.Client.Delete(ctx, job, unchanged, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if err := children.Explain(client.IgnoreNotFound(err), "delete", "Job", job.Name); err != nil {
			return err
		}
		pass.Event(corev1.EventTypeNormal, "RunReleased", "Release/"+job.Name, fmt.Sprintf("Removed Job %q: it belongs to a former document, and its program could not start.", job.Name))
	}
	return nil
}

// unstarted judges by what the API server has, not the cache: a program whose
// image has just arrived may run before the watch of pods shows it, and its Job
// may not have changed yet.
func (s schedule) unstarted(ctx context.Context, job *batchv1.Job) (bool, error) {
	pods, err := gather.LivePods(ctx, s.Live, job)
	if err != nil {
		return false, children.Explain(err, "list", "the pods of Job", job.Name)
	}
	var events []corev1.Event
	if observe.NeedsEvents(job, pods) {
		if events, err = gather.JobEvents(ctx, s.Live, job); err != nil {
			return false, children.Explain(err, "list", "the Events of Job", job.Name)
		}
	}
	return observe.Unstarted(job, pods, events), nil
}

// former tells a run of a former document that has not ended.
func former(pass *journal.Pass, job *batchv1.Job) bool {
	return job.DeletionTimestamp.IsZero() && !observe.Ended(job) &&
		job.Annotations[v1alpha1.GenerationAnnotation] != strconv.FormatInt(pass.Object().Generation, 10)
}

// settled is how long the configuration of a former document stays after that
// of the present one was written: a run that started from the former template
// just before may not have mounted it yet.
const settled = 2 * time.Minute

// tidy removes what a former document left behind, once no run needs it.
func (s schedule) tidy(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob, policy *networkingv1.NetworkPolicy, config *corev1.ConfigMap) error {
	present := children.Named(children.Present(policy, config)...)
	ofSchedule := labels.SelectorFromSet(workload.Labels(pass.Object(), workload.ComponentSchedule))
	needed, err := s.formerNeeded(ctx, pass, cronJob, config)
	if err != nil {
		return err
	}
	return s.Children.Attachments(ctx, pass, func(child client.Object) bool {
		return present(child) || needed && ofSchedule.Matches(labels.Set(child.GetLabels()))
	})
}

// formerNeeded tells whether a run of a former document may still need what
// that run was started with. If nothing else tells when it no longer does, the
// pass is repeated then.
func (s schedule) formerNeeded(ctx context.Context, pass *journal.Pass, cronJob *batchv1.CronJob, config *corev1.ConfigMap) (bool, error) {
	if config != nil {
		if wait := settled - pass.Now().Sub(config.CreationTimestamp.Time); wait > 0 {
			pass.RequeueAfter(wait)
			return true, nil
		}
	}
	jobs, err := s.jobs(ctx, pass, cronJob)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return !observe.Ended(&job) }), nil
}

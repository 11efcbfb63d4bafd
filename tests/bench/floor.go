package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// bare is the floor: it makes what the operator makes, as the same service
// account, with the fewest writes that an honest operator can do with. It
// watches nothing, decides nothing and looks at nothing.
type bare struct {
	// person creates agents and ends runs.
	person client.Client
	// operator writes what the operator writes.
	operator client.Client
}

func newBare(cluster *harness.Cluster) (bare, error) {
	config := *cluster.OperatorConfig
	config.QPS = -1
	operator, err := client.New(&config, client.Options{Scheme: cluster.Client.Scheme()})
	if err != nil {
		return bare{}, fmt.Errorf("connect the bare client: %w", err)
	}
	return bare{person: cluster.Client, operator: operator}, nil
}

// live takes an agent through its life.
func (b bare) live(ctx context.Context, name string, l life) error {
	agent := newAgent(name, l)
	if err := b.person.Create(ctx, agent); err != nil {
		return fmt.Errorf("create agent %s: %w", name, err)
	}
	return l.floor(b, ctx, agent)
}

// child creates an agent and the child that runs it, and nothing else.
func (b bare) child(ctx context.Context, name string, l life) error {
	agent := newAgent(name, l)
	if err := b.person.Create(ctx, agent); err != nil {
		return fmt.Errorf("create agent %s: %w", name, err)
	}
	return b.create(ctx, agent, l.workload(inputOf(agent)))
}

func inputOf(agent *v1alpha1.LoomAgent) workload.Input {
	return workload.Input{Agent: agent, DefaultImage: harness.AgentImage}
}

func (b bare) serve(ctx context.Context, agent *v1alpha1.LoomAgent) error {
	in := inputOf(agent)
	deployment := workload.Deployment(in)
	if err := b.create(ctx, agent, workload.Config(in), workload.Service(in), deployment); err != nil {
		return err
	}
	return b.report(ctx, agent, deployment, v1alpha1.StateRunning)
}

func (b bare) schedule(ctx context.Context, agent *v1alpha1.LoomAgent) error {
	in := inputOf(agent)
	cronJob := workload.CronJob(in)
	if err := b.create(ctx, agent, children.Present(workload.Config(in), cronJob)...); err != nil {
		return err
	}
	return b.report(ctx, agent, cronJob, v1alpha1.StateRunning)
}

// command marks the agent, creates a suspended Job, records it, resumes it and
// records its end: no run may start before it is recorded.
func (b bare) command(ctx context.Context, agent *v1alpha1.LoomAgent) error {
	job := workload.Job(inputOf(agent))
	if err := patch(ctx, b.operator, agent, func(agent *v1alpha1.LoomAgent) {
		metav1.SetMetaDataAnnotation(&agent.ObjectMeta, v1alpha1.CreatePendingAnnotation, strconv.FormatInt(agent.Generation, 10))
	}); err != nil {
		return err
	}
	if err := b.create(ctx, agent, job); err != nil {
		return err
	}
	if err := b.report(ctx, agent, job, v1alpha1.StateRunning); err != nil {
		return err
	}
	if err := patch(ctx, b.operator, job, func(job *batchv1.Job) { job.Spec.Suspend = new(false) }); err != nil {
		return err
	}
	if err := end(ctx, b.person, job); err != nil {
		return err
	}
	agent.Status.Run = &v1alpha1.RunEnd{ExitCode: new(int32(0)), FinishedAt: new(metav1.Now()), Reason: new("Completed")}
	return b.report(ctx, agent, job, v1alpha1.StateCompleted)
}

func (b bare) create(ctx context.Context, agent *v1alpha1.LoomAgent, owned ...client.Object) error {
	for _, child := range owned {
		child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(agent, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))})
		if err := b.operator.Create(ctx, child); err != nil {
			return fmt.Errorf("create %T %s: %w", child, child.GetName(), err)
		}
	}
	return nil
}

// report writes a status as long as the operator's.
func (b bare) report(ctx context.Context, agent *v1alpha1.LoomAgent, child client.Object, state v1alpha1.AgentState) error {
	agent.Status.ObservedGeneration, agent.Status.State, agent.Status.Variant = agent.Generation, state, agent.Variant()
	agent.Status.Check = &v1alpha1.CheckResult{Message: "The document was accepted."}
	agent.Status.Workload = &v1alpha1.Workload{
		Kind: child.GetObjectKind().GroupVersionKind().Kind, Name: child.GetName(), UID: child.GetUID(), Image: harness.AgentImage,
	}
	agent.Status.Conditions = nil
	for _, kind := range []string{
		v1alpha1.ConditionChecked, v1alpha1.ConditionReferencesResolved, v1alpha1.ConditionAvailable, v1alpha1.ConditionReady, v1alpha1.ConditionSynced,
	} {
		agent.Status.Conditions = append(agent.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: "Reported", Message: "A sentence as long as most of the operator's.",
			ObservedGeneration: agent.Generation, LastTransitionTime: metav1.Now(),
		})
	}
	if err := b.operator.Status().Update(ctx, agent); err != nil {
		return fmt.Errorf("report on agent %s: %w", agent.Name, err)
	}
	return nil
}

// patch changes an object by a merge patch.
func patch[T client.Object](ctx context.Context, c client.Client, object T, change func(T)) error {
	from := client.MergeFrom(object.DeepCopyObject().(client.Object))
	change(object)
	if err := c.Patch(ctx, object, from); err != nil {
		return fmt.Errorf("patch %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// end lets the run of a resumed Job end well, as Kubernetes' Job controller and
// a kubelet do: a pod, the end of its container, and the Job's verdict.
func end(ctx context.Context, c client.Client, job *batchv1.Job) error {
	at := metav1.NewTime(time.Now().Truncate(time.Second))
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-0"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if err := c.Create(ctx, pod); err != nil {
		return fmt.Errorf("create the pod of Job %s: %w", job.Name, err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  v1alpha1.AgentContainer,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at, FinishedAt: at}},
	}}}
	if err := c.Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("end the pod of Job %s: %w", job.Name, err)
	}
	ended := job.DeepCopy()
	ended.Status = batchv1.JobStatus{
		StartTime: &at, CompletionTime: &at, Succeeded: 1, Ready: new(int32(0)), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		ended.Status.Conditions = append(ended.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastProbeTime: at, LastTransitionTime: at,
		})
	}
	if err := c.Status().Update(ctx, ended); err != nil {
		return fmt.Errorf("end Job %s: %w", job.Name, err)
	}
	return nil
}

package main

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// take does what a person does in the step.
func (l *life) take(ctx context.Context, s step) error {
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
	if s.spec != nil {
		s.spec.DeepCopyInto(&agent.Spec)
		if spec := &agent.Spec; s.code != nil && l.node != nil {
			l.node.adjust(spec, l.plan, s.document())
		}
		if spec := &agent.Spec; l.expires && s.code != nil && !s.tick {
			spec.Run = &v1alpha1.RunSettings{TTLSecondsAfterFinished: new(int32(0))}
		}
	}
	wanted := agent.Spec
	// The API server may be restarting, or may be slow to give up a conflict.
	if err := await(ctx, converges, func(ctx context.Context) error { return l.write(ctx, agent, s, wanted) }); err != nil {
		return fmt.Errorf("step %q: %w", s.name, err)
	}
	if s.tick {
		return l.tick(ctx, agent.Generation, *s.code)
	}
	return nil
}

func (l *life) write(ctx context.Context, agent *v1alpha1.LoomAgent, s step, wanted v1alpha1.LoomAgentSpec) error {
	if s.spec == nil {
		return client.IgnoreNotFound(l.cluster.Client.Delete(ctx, agent, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	err := l.cluster.Client.Get(ctx, client.ObjectKeyFromObject(agent), agent)
	switch {
	case apierrors.IsNotFound(err) && l.uid == "":
		err = l.cluster.Client.Create(ctx, agent)
	case err == nil && l.uid != "":
		agent.Spec = wanted
		err = l.cluster.Client.Update(ctx, agent)
	}
	if err == nil {
		l.uid, l.generation = string(agent.UID), agent.Generation
	}
	return err
}

// tick makes a Job of the schedule as soon as its CronJob is that of the
// agent's generation.
func (l *life) tick(ctx context.Context, generation int64, code int32) error {
	var made *batchv1.Job
	err := await(ctx, converges, func(ctx context.Context) error {
		cronJobs := &batchv1.CronJobList{}
		if err := l.cluster.Client.List(ctx, cronJobs, client.InNamespace(l.namespace)); err != nil {
			return err
		}
		for _, cronJob := range cronJobs.Items {
			template := cronJob.Spec.JobTemplate
			if template.Annotations[v1alpha1.GenerationAnnotation] == fmt.Sprint(generation) {
				made = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
					Namespace: l.namespace, Name: fmt.Sprintf("%s-%d", cronJob.Name, code), Labels: template.Labels, Annotations: template.Annotations,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
				}, Spec: template.Spec}
				return nil
			}
		}
		return fmt.Errorf("there is no CronJob of generation %d", generation)
	})
	if err != nil {
		l.failed(err)
		return nil
	}
	return await(ctx, converges, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(l.cluster.Client.Create(ctx, made))
	})
}

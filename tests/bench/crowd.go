package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ballast makes an unrelated object about 10 KiB long.
var ballast = strings.Repeat("x", 10*kibi)

// crowd makes objects of other people, a quarter of each kind, and returns the
// change in percent of the operator's memory: of the process that sees them
// come, or of one that is started when they are there, whichever is more.
func (t trial) crowd(ctx context.Context, p *plane, o *operator) (float64, error) {
	agents := t.agents + t.samples
	before, err := o.fresh(ctx, agents)
	if err != nil {
		return 0, err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range t.others {
		group.Go(func() error {
			other := unrelated(i)
			if err := p.cluster.Client.Create(within, other); err != nil {
				return fmt.Errorf("create %T: %w", other, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	running, err := o.atRest(ctx)
	if err != nil {
		return 0, err
	}
	started, err := o.fresh(ctx, agents)
	if err != nil {
		return 0, err
	}
	return 100 * (max(running.resident, started.resident)/before.resident - 1), nil
}

// fresh is the memory of a process that was just started.
func (o *operator) fresh(ctx context.Context, agents int) (memory, error) {
	if _, err := o.again(ctx, agents); err != nil {
		return memory{}, err
	}
	return o.atRest(ctx)
}

// unrelated is the i-th object that has nothing to do with the operator, in the
// namespace that it looks after.
func unrelated(i int) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("other-%d", i)}
	data := map[string]string{"ballast": ballast}
	annotated := *meta.DeepCopy()
	annotated.Annotations = data
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "other", Image: "registry.test/other:1"}}}
	switch i % 4 {
	case 0:
		return &corev1.Secret{ObjectMeta: meta, StringData: data}
	case 1:
		return &corev1.ConfigMap{ObjectMeta: meta, Data: data}
	case 2:
		return &corev1.Pod{ObjectMeta: annotated, Spec: pod}
	default:
		return &batchv1.Job{ObjectMeta: annotated, Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: pod}}}
	}
}

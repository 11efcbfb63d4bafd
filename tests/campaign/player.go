package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// playKubelet lets every pod of the namespace serve at once, or end at once
// with exit code 0 when it is a run's.
func (c *campaign) playKubelet(ctx context.Context) error {
	informer, err := c.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && len(pod.Status.ContainerStatuses) == 0 {
			go c.play(ctx, pod)
		}
	}})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	return nil
}

func (c *campaign) play(ctx context.Context, pod *corev1.Pod) {
	played := pod.DeepCopy()
	since := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	container := corev1.ContainerStatus{Name: v1alpha1.AgentContainer}
	if pod.Labels["app.kubernetes.io/component"] == workload.ComponentServe {
		container.Ready, container.State.Running = true, &corev1.ContainerStateRunning{StartedAt: since}
		played.Status.Phase = corev1.PodRunning
		played.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	} else {
		container.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: since}
		played.Status.Phase = corev1.PodSucceeded
	}
	played.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	err := c.cluster.Client.Status().Patch(ctx, played, client.MergeFrom(pod))
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		c.report(fmt.Sprintf("pod %s could not be played: %v", pod.Name, err))
	}
}

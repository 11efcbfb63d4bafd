package gather

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// LabelIndex is the cache index of agents, and of their pods, by the value of
// the agent label.
const LabelIndex = "loom.label"

// AgentLabel is the function of LabelIndex for agents.
func AgentLabel(agent *v1alpha1.LoomAgent) string {
	return workload.Labels(agent, workload.Component(agent))[v1alpha1.AgentLabel]
}

// Pods lists the agent's pods from a cache that has LabelIndex.
func Pods(ctx context.Context, cache client.Reader, agent *v1alpha1.LoomAgent) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := cache.List(ctx, &pods, client.InNamespace(agent.Namespace), client.MatchingFields{LabelIndex: AgentLabel(agent)}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return pods.Items, nil
}

// LivePods lists the pods of a Job from the API server.
func LivePods(ctx context.Context, live client.Reader, job *batchv1.Job) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)}); err != nil {
		return nil, fmt.Errorf("list the pods of Job %q: %w", job.Name, err)
	}
	return pods.Items, nil
}

// JobEvents lists the Events about a Job from the API server. They are the
// only place that tells why a Job could not make its pod (case A25).
func JobEvents(ctx context.Context, live client.Reader, job *batchv1.Job) ([]corev1.Event, error) {
	var events corev1.EventList
	about := client.MatchingFieldsSelector{Selector: fields.SelectorFromSet(fields.Set{"involvedObject.uid": string(job.UID), "type": corev1.EventTypeWarning})}
	if err := live.List(ctx, &events, client.InNamespace(job.Namespace), about); err != nil {
		return nil, fmt.Errorf("list the Events of Job %q: %w", job.Name, err)
	}
	return events.Items, nil
}

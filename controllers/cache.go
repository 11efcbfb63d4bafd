package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// CacheOptions keeps the agents and what belongs to them, and nothing of other
// people's objects: children and pods are selected by the operator's label
// (case A18). Namespaces limits all of it; empty means all.
func CacheOptions(namespaces []string) cache.Options {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{},
	}
	ours := cache.ByObject{Label: labels.SelectorFromSet(workload.ManagedBy())}
	for _, child := range append(children.Workloads(), children.Attachments()...) {
		options.ByObject[child] = ours
	}
	options.ByObject[&corev1.Pod{}] = ours
	options.ByObject[&v1alpha1.LoomAgent{}] = cache.ByObject{Transform: named}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// named drops what nobody reads and names the kind, which objects from a watch
// do not carry and the metric resource_created_at_seconds has as labels.
func named(in any) (any, error) {
	if agent, ok := in.(*v1alpha1.LoomAgent); ok {
		agent.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	}
	return cache.TransformStripManagedFields()(in)
}

// index makes the look-ups of a pass independent of how many agents there are.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, child := range append(children.Workloads(), children.Attachments()...) {
		if err := indexer.IndexField(ctx, child, children.OwnerIndex, children.Owner); err != nil {
			return fmt.Errorf("index %T by owner: %w", child, err)
		}
	}
	byLabel := func(obj client.Object) []string { return []string{obj.GetLabels()[v1alpha1.AgentLabel]} }
	if err := indexer.IndexField(ctx, &corev1.Pod{}, gather.LabelIndex, byLabel); err != nil {
		return fmt.Errorf("index pods by agent: %w", err)
	}
	for name, keys := range map[string]func(*v1alpha1.LoomAgent) []string{
		gather.Index:      gather.IndexKeys,
		gather.LabelIndex: func(agent *v1alpha1.LoomAgent) []string { return []string{gather.AgentLabel(agent)} },
	} {
		of := func(obj client.Object) []string { return keys(obj.(*v1alpha1.LoomAgent)) }
		if err := indexer.IndexField(ctx, &v1alpha1.LoomAgent{}, name, of); err != nil {
			return fmt.Errorf("index agents by %s: %w", name, err)
		}
	}
	return nil
}

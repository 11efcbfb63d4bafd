package gather

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// AgentsOf finds the agents of an object by its agent label, in a cache that
// has LabelIndex.
func AgentsOf(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return requests(ctx, cache, obj.GetNamespace(), LabelIndex, obj.GetLabels()[v1alpha1.AgentLabel])
	}
}

// requests finds agents through an index. An agent that cannot be found now is
// looked at again at the next resync.
func requests(ctx context.Context, cache client.Reader, namespace, index, key string) []reconcile.Request {
	var agents v1alpha1.LoomAgentList
	if err := cache.List(ctx, &agents, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Agents were not found in the cache", "namespace", namespace, "index", index, "key", key)
		return nil
	}
	var found []reconcile.Request
	for i := range agents.Items {
		found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&agents.Items[i])})
	}
	return found
}

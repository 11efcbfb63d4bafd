package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// A21: under foreground deletion the agent stays for a while and must not make
// its children anew.
func TestA21DeletionLeavesNothing(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		for variant, spec := range variants() {
			t.Run(string(how)+" "+variant, func(t *testing.T) {
				w := newWorld(t)
				agent := w.create("a", spec())
				w.await("a", "has its workload", hasWorkload(kinds[variant]))
				if variant != "schedule" {
					w.pod("a")
				}
				assert.Empty(t, w.agent("a").Finalizers)

				require.NoError(t, w.Delete(t.Context(), agent, client.PropagationPolicy(how)))

				w.gone(agent)
				w.eventually("nothing is left", func(context.Context) error {
					if left := names(w.children()); len(left) > 0 {
						return fmt.Errorf("%v is", left)
					}
					return nil
				})
			})
		}
	}
}

func TestA16NamespaceDeletionEnds(t *testing.T) {
	w := newWorld(t)
	for variant, spec := range variants() {
		w.create(variant, spec())
		w.await(variant, "has its workload", hasWorkload(kinds[variant]))
	}
	w.create("refused", refused())

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	require.NoError(t, w.Delete(t.Context(), namespace))

	w.eventually("the namespace is gone", func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil {
			return fmt.Errorf("it is %s: %v", namespace.Status.Phase, namespace.Status.Conditions)
		}
		return client.IgnoreNotFound(err)
	})
}

// A16: agents can be deleted when the operator is gone.
func TestA16DeletionNeedsNoOperator(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	for variant, spec := range variants() {
		w.create(variant, spec())
		w.await(variant, "has its workload", hasWorkload(kinds[variant]))
	}
	require.NoError(t, operator.Stop())

	require.NoError(t, w.DeleteAllOf(t.Context(), &v1alpha1.LoomAgent{}, client.InNamespace(w.namespace)))

	w.eventually("nothing is left", func(context.Context) error {
		if left := names(w.children()); len(left) > 0 {
			return fmt.Errorf("%v is", left)
		}
		return nil
	})
}

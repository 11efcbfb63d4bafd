package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// lookAt looks at an object of any kind.
func lookAt[T any, P interface {
	*T
	client.Object
}](w world, name string, yes func(P) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		object := P(new(T))
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object); err != nil {
			return err
		}
		if !yes(object) {
			return fmt.Errorf("it is %+v", object)
		}
		return nil
	}
}

// again wants an object to be there with another UID.
func (w world) again(object client.Object, before types.UID) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if object.GetUID() == before {
			return errors.New("it is the former one")
		}
		return nil
	}
}

// always wants look to return nil for a while.
func (w world) always(what string, look func(context.Context) error) {
	w.Helper()
	harness.Always(w, 3*time.Second, what, look)
}

// countRollouts wants the Deployment of an agent to have had so many templates.
func (w world) countRollouts(ctx context.Context, agent string, want int) error {
	var sets appsv1.ReplicaSetList
	if err := w.List(ctx, &sets, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.AgentLabel: agent}); err != nil {
		return err
	}
	if len(sets.Items) != want {
		return fmt.Errorf("it has had %d templates, not %d", len(sets.Items), want)
	}
	return nil
}

// stays wants the status of an agent not to change any more.
func (w world) stays(name string, before *v1alpha1.LoomAgent) {
	w.Helper()
	harness.Always(w, 3*time.Second, name+" stays as it is", func(context.Context) error {
		if after := w.agent(name); !reflect.DeepEqual(before.Status, after.Status) {
			return fmt.Errorf("its status is %+v, and was %+v", after.Status, before.Status)
		}
		return nil
	})
}

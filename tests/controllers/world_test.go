package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// patience is how long a test waits for what the operator and Kubernetes do by
// themselves. It is long because many tests share a small machine; a test that
// passes does not wait for it.
const patience = time.Minute

// world is one test's namespace.
type world struct {
	*testing.T
	client.WithWatch
	cluster   *harness.Cluster
	namespace string
}

// newWorld is a namespace that the shared operator looks after.
func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	return world{T: t, WithWatch: shared.Client, cluster: shared, namespace: shared.Namespace(t)}
}

// quietWorld is a namespace without an operator; the test starts its own.
func quietWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	cluster := harness.ControlPlane(t)
	return world{T: t, WithWatch: cluster.Client, cluster: cluster, namespace: cluster.Namespace(t)}
}

func (w world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// create makes an agent.
func (w world) create(name string, spec v1alpha1.LoomAgentSpec) *v1alpha1.LoomAgent {
	w.Helper()
	agent := &v1alpha1.LoomAgent{ObjectMeta: w.meta(name), Spec: spec}
	require.NoError(w, w.Create(w.Context(), agent))
	return agent
}

// make creates any other object.
func (w world) make(object client.Object) {
	w.Helper()
	object.SetNamespace(w.namespace)
	require.NoError(w, w.Create(w.Context(), object))
}

// remove deletes an object in the background.
func (w world) remove(object client.Object) {
	w.Helper()
	require.NoError(w, w.Delete(w.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// agent reads an agent.
func (w world) agent(name string) *v1alpha1.LoomAgent {
	w.Helper()
	return get[v1alpha1.LoomAgent](w, name)
}

// edit changes an object as a person does: it reads, changes and writes it, and
// begins again when somebody else was faster.
func edit[T any, P interface {
	*T
	client.Object
}](w world, name string, change func(P)) P {
	w.Helper()
	object := P(new(T))
	require.NoError(w, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.Get(w.Context(), keyOf(w, name), object); err != nil {
			return err
		}
		change(object)
		return w.Update(w.Context(), object)
	}))
	return object
}

// get reads an object that exists.
func get[T any, P interface {
	*T
	client.Object
}](w world, name string) P {
	w.Helper()
	object := P(new(T))
	require.NoError(w, w.Get(w.Context(), keyOf(w, name), object))
	return object
}

// await waits until the agent passes every look, and returns it as it then was.
func (w world) await(name, what string, looks ...look) *v1alpha1.LoomAgent {
	w.Helper()
	agent := &v1alpha1.LoomAgent{}
	harness.Eventually(w, patience, name+": "+what, func(ctx context.Context) error {
		*agent = v1alpha1.LoomAgent{}
		if err := w.Get(ctx, keyOf(w, name), agent); err != nil {
			return err
		}
		for _, look := range looks {
			if err := look(agent); err != nil {
				return err
			}
		}
		return nil
	})
	return agent
}

func keyOf(w world, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

// eventually waits until look returns nil.
func (w world) eventually(what string, look func(ctx context.Context) error) {
	w.Helper()
	harness.Eventually(w, patience, what, look)
}

// gone waits until there is no such object.
func (w world) gone(object client.Object) {
	w.Helper()
	key := keyOf(w, object.GetName())
	w.eventually(fmt.Sprintf("%T %s is gone", object, key.Name), func(ctx context.Context) error {
		err := w.Get(ctx, key, object)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// look judges an agent; nil is yes.
type look func(*v1alpha1.LoomAgent) error

// state wants a state of the present generation.
func state(want v1alpha1.AgentState) look {
	return func(agent *v1alpha1.LoomAgent) error {
		if agent.Status.State != want || agent.Status.ObservedGeneration != agent.Generation {
			return fmt.Errorf("state is %s of generation %d, not %s of %d", agent.Status.State, agent.Status.ObservedGeneration, want, agent.Generation)
		}
		return nil
	}
}

// ready wants the condition Ready, with its reason, of the present generation.
func ready(status metav1.ConditionStatus, reason string) look {
	return condition(v1alpha1.ConditionReady, status, reason)
}

// notReady wants Ready to be False for a reason.
func notReady(reason string) look { return ready(metav1.ConditionFalse, reason) }

func condition(kind string, status metav1.ConditionStatus, reason string) look {
	return func(agent *v1alpha1.LoomAgent) error {
		c := meta.FindStatusCondition(agent.Status.Conditions, kind)
		if c == nil {
			return fmt.Errorf("there is no condition %s", kind)
		}
		if c.Status != status || c.Reason != reason || c.ObservedGeneration != agent.Generation {
			return fmt.Errorf("%s is %s/%s of generation %d (%s), not %s/%s of %d", kind, c.Status, c.Reason, c.ObservedGeneration, c.Message, status, reason, agent.Generation)
		}
		return nil
	}
}

// message is the message of a condition.
func message(agent *v1alpha1.LoomAgent, kind string) string {
	if c := meta.FindStatusCondition(agent.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// hasWorkload wants the workload of the present generation to be recorded.
func hasWorkload(kind string) look {
	return func(agent *v1alpha1.LoomAgent) error {
		if w := agent.Status.Workload; w == nil || w.Kind != kind || agent.Status.ObservedGeneration != agent.Generation {
			return fmt.Errorf("workload is %+v of generation %d, not a %s of %d", w, agent.Status.ObservedGeneration, kind, agent.Generation)
		}
		return nil
	}
}

// runs wants the workload to run an image.
func runs(image string) look {
	return func(agent *v1alpha1.LoomAgent) error {
		if w := agent.Status.Workload; w == nil || w.Image != image {
			return fmt.Errorf("workload is %+v, not of image %s", w, image)
		}
		return nil
	}
}

// children lists all objects of the kinds that the operator and the
// controllers of Kubernetes make for agents.
func (w world) children() []client.Object {
	w.Helper()
	var found []client.Object
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &batchv1.CronJobList{}, &batchv1.JobList{}, &corev1.PodList{},
		&corev1.ServiceList{}, &corev1.ConfigMapList{},
	} {
		require.NoError(w, w.List(w.Context(), list, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.AgentLabel}))
		items, err := meta.ExtractList(list)
		require.NoError(w, err)
		for _, item := range items {
			found = append(found, item.(client.Object))
		}
	}
	return found
}

// names tells the kinds and names of objects, for comparing.
func names(objects []client.Object) []string {
	var all []string
	for _, object := range objects {
		all = append(all, fmt.Sprintf("%T/%s", object, object.GetName()))
	}
	return all
}

// jobs lists the Jobs of the namespace.
func (w world) jobs() []batchv1.Job {
	w.Helper()
	var jobs batchv1.JobList
	require.NoError(w, w.List(w.Context(), &jobs, client.InNamespace(w.namespace)))
	return jobs.Items
}

package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// workloadLists lists the kinds that run agents.
func workloadLists() map[string]client.ObjectList {
	return map[string]client.ObjectList{"serve": &appsv1.DeploymentList{}, "command": &batchv1.JobList{}, "schedule": &batchv1.CronJobList{}}
}

// Changing the variant removes the former child, and its pods, before the next
// one is made, and leaves nothing of it behind.
func TestVariantChanges(t *testing.T) {
	for from, former := range variants() {
		for to, latter := range variants() {
			if from == to {
				continue
			}
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				w := newWorld(t)
				w.create("a", former())
				before := w.await("a", "has its first workload", hasWorkload(kinds[from])).Status.Workload
				if from == "schedule" {
					w.tick("a")
				}
				w.pod("a")
				next := workloadLists()[to]
				require.NoError(t, w.List(t.Context(), next, client.InNamespace(w.namespace)))
				events, err := w.Watch(t.Context(), workloadLists()[to], client.InNamespace(w.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: next.GetResourceVersion()}})
				require.NoError(t, err)
				defer events.Stop()

				edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec = latter() })
				created := ownedBy(t, events, "a")
				w.assertGone(from, before.UID, created)
				w.await("a", "has its next workload", state(v1alpha1.StateRunning), hasWorkload(kinds[to]))

				w.settled(to, "a")
				w.eventually("nothing of the former variant is left", func(context.Context) error {
					for _, child := range w.children() {
						if c := child.GetLabels()["app.kubernetes.io/component"]; c != "" && c != components[to] {
							return fmt.Errorf("%T %s is", child, child.GetName())
						}
					}
					return nil
				})
			})
		}
	}
}

var components = map[string]string{"serve": "serve", "command": "run", "schedule": "schedule"}

// ownedBy waits until the watch shows a new object of the agent.
func ownedBy(t *testing.T, events watch.Interface, agent string) client.Object {
	t.Helper()
	for {
		event := next(t, events)
		object, ok := event.Object.(client.Object)
		require.True(t, ok, "%v", event)
		owner := metav1.GetControllerOf(object)
		if event.Type == watch.Added && owner != nil && owner.Kind == v1alpha1.Kind && owner.Name == agent {
			return object
		}
	}
}

// assertGone wants the former workload and its pods to have been gone when the
// next one was made. Nothing makes them again, so it is enough to look now.
func (w world) assertGone(variant string, uid any, created client.Object) {
	w.Helper()
	list := workloadLists()[variant]
	require.NoError(w, w.List(w.Context(), list, client.InNamespace(w.namespace)))
	for _, child := range w.children() {
		assert.NotEqual(w, uid, child.GetUID(), "%T %s is there although %T %s was made", child, child.GetName(), created, created.GetName())
	}
	pods, err := w.pods(w.Context(), "a")
	require.NoError(w, err)
	for _, pod := range pods {
		assert.Equal(w, created.GetLabels()["app.kubernetes.io/component"], pod.Labels["app.kubernetes.io/component"], "pod %s of the former variant is there", pod.Name)
	}
}

func TestRefusedAfterRunningRemovesTheWorkload(t *testing.T) {
	for variant, spec := range variants() {
		t.Run(variant, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", spec())
			w.await("a", "has its workload", hasWorkload(kinds[variant]))

			edit(w, "a", func(agent *v1alpha1.LoomAgent) {
				agent.Spec.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/2"}`)
			})
			agent := w.await("a", "is refused", state(v1alpha1.StateRefused), notReady(v1alpha1.ReasonRefused))
			assert.Nil(t, agent.Status.Workload)
			w.eventually("nothing is left", func(context.Context) error {
				if left := names(w.children()); len(left) > 0 {
					return fmt.Errorf("%v is", left)
				}
				return nil
			})

			edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec.Agent = demo() })
			w.settled(variant, "a")
		})
	}
}

// A new generation of a command runs again, once, and the former Job is gone
// before the next one is made.
func TestRespecifiedCommandRunsAgain(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	first := w.completed("c")

	edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Spec.Image = image("2") })
	running := w.await("c", "runs again", state(v1alpha1.StateRunning), hasWorkload("Job"))
	assert.Nil(t, running.Status.Run, "what was known of the former generation is cleared")
	assert.NotEqual(t, first.Status.Workload.UID, running.Status.Workload.UID)
	assert.Equal(t, "registry.test/agent:2", running.Status.Workload.Image)
	second := w.completed("c")

	assert.Equal(t, int64(2), second.Status.ObservedGeneration)
	assert.Len(t, w.jobs(), 1)
}

func TestSuspendAndResume(t *testing.T) {
	suspend := func(w world, yes bool) {
		edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec.Suspend = &yes })
	}
	t.Run("serve", func(t *testing.T) {
		w := newWorld(t)
		w.create("a", serving())
		w.available("a")

		suspend(w, true)
		w.await("a", "rests", notReady(v1alpha1.ReasonSuspended), state(v1alpha1.StateRunning))
		w.eventually("there are no pods", func(ctx context.Context) error { return w.countPods(ctx, "a", 0) })
		assert.Equal(t, int32(0), *get[appsv1.Deployment](w, "a").Spec.Replicas)

		suspend(w, false)
		w.available("a")
	})
	t.Run("command", func(t *testing.T) {
		w := newWorld(t)
		w.create("a", command())
		w.pod("a")

		suspend(w, true)
		agent := w.await("a", "rests", notReady(v1alpha1.ReasonSuspended))
		assert.Equal(t, v1alpha1.StatePending, agent.Status.State)
		w.eventually("the run has ended, and what it mounted is gone", func(context.Context) error {
			if left := names(w.children()); len(left) > 0 {
				return fmt.Errorf("%v is there", left)
			}
			return nil
		})

		suspend(w, false)
		w.completed("a")
		assert.Len(t, w.jobs(), 1)
	})
	t.Run("command that was suspended from the start", func(t *testing.T) {
		w := newWorld(t)
		spec := command()
		spec.Suspend = new(true)
		w.create("a", spec)
		w.await("a", "rests", notReady(v1alpha1.ReasonSuspended), state(v1alpha1.StatePending))
		assert.Empty(t, w.jobs())

		suspend(w, false)
		w.completed("a")
	})
	t.Run("schedule", func(t *testing.T) {
		w := newWorld(t)
		w.create("a", scheduled())
		w.inForce("a")

		edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.Suspend = new(true) })
		agent := w.await("a", "rests", notReady(v1alpha1.ReasonSuspended), state(v1alpha1.StateRunning))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), "spec.schedule.suspend")
		assert.Nil(t, agent.Status.NextRun)
		assert.True(t, *get[batchv1.CronJob](w, "a").Spec.Suspend)

		edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec.Schedule.Suspend = nil })
		agent = w.inForce("a")
		assert.NotNil(t, agent.Status.NextRun)
		assert.False(t, *get[batchv1.CronJob](w, "a").Spec.Suspend)

		suspend(w, true)
		agent = w.await("a", "rests", notReady(v1alpha1.ReasonSuspended), state(v1alpha1.StateRunning))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), "spec.suspend")
		assert.True(t, *get[batchv1.CronJob](w, "a").Spec.Suspend)
	})
}

func (w world) countPods(ctx context.Context, agent string, want int) error {
	pods, err := w.pods(ctx, agent)
	if err == nil && len(pods) != want {
		err = fmt.Errorf("there are %d pods, not %d", len(pods), want)
	}
	return err
}

func TestPausedAgentKeepsItsChildren(t *testing.T) {
	for variant, spec := range variants() {
		t.Run(variant, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", spec())
			if variant == "command" {
				w.pod("a")
			} else {
				w.settled(variant, "a")
			}
			before := w.await("a", "has its workload", hasWorkload(kinds[variant]))
			children := names(w.children())

			edit(w, "a", func(agent *v1alpha1.LoomAgent) {
				agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
				agent.Spec.Image = image("2")
				agent.Spec.Suspend = new(true)
			})
			agent := w.await("a", "is paused", notReady(v1alpha1.ReasonPaused))
			assert.Contains(t, message(agent, v1alpha1.ConditionReady), v1alpha1.PausedAnnotation)
			assert.Equal(t, children, names(w.children()))
			for _, pod := range podsOf(w, "a") {
				assert.Equal(t, "registry.test/agent:1", pod.Spec.Containers[0].Image)
			}

			edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Annotations, agent.Spec.Suspend = nil, nil })
			after := w.await("a", "runs the new image", hasWorkload(kinds[variant]), runs("registry.test/agent:2"))
			w.settled(variant, "a")
			assert.Equal(t, variant == "command", before.Status.Workload.UID != after.Status.Workload.UID, "only a command has a new object")
		})
	}
}

func podsOf(w world, agent string) []corev1.Pod {
	pods, err := w.pods(w.Context(), agent)
	require.NoError(w, err)
	return pods
}

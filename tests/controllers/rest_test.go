package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// Who stops an agent at night may find that its Secret is gone. That must not
// keep it running.
func TestSuspendStopsAnAgentWhoseSecretIsGone(t *testing.T) {
	w := newWorld(t)
	for variant, spec := range variants() {
		w.make(&corev1.Secret{ObjectMeta: w.meta(variant)})
		document := spec()
		document.SecretRef = &v1alpha1.SecretRef{Name: variant}
		w.create(variant, document)
	}
	w.available("serve")
	w.pod("command")
	w.inForce("schedule")
	run := w.agent("command").Status.Workload

	for variant := range variants() {
		w.remove(&corev1.Secret{ObjectMeta: w.meta(variant)})
		edit(w, variant, func(agent *v1alpha1.LoomAgent) { agent.Spec.Suspend = new(true) })
	}
	for variant := range variants() {
		agent := w.await(variant, "rests", notReady(v1alpha1.ReasonSuspended))
		assert.Contains(t, message(agent, v1alpha1.ConditionReferencesResolved), "this is not waited for")
	}
	assert.Zero(t, *get[appsv1.Deployment](w, "serve").Spec.Replicas)
	w.gone(&batchv1.Job{ObjectMeta: w.meta(run.Name)})
	assert.True(t, *get[batchv1.CronJob](w, "schedule").Spec.Suspend)
}

// A policy that is too tight may be why an agent never becomes available, so it
// goes without waiting for that.
func TestBoundaryIsLiftedWhileTheAgentIsInTrouble(t *testing.T) {
	lifts := map[string]func(*v1alpha1.LoomAgent){
		"annotation": func(agent *v1alpha1.LoomAgent) {
			agent.Annotations = map[string]string{workload.NetworkPolicyAnnotation: workload.NetworkPolicyDisabled}
		},
		"document": func(agent *v1alpha1.LoomAgent) { agent.Spec.Boundary = nil },
	}
	for kind, spec := range map[string]v1alpha1.LoomAgentSpec{"serve": serving(), "command": command()} {
		for how, lift := range lifts {
			t.Run(kind+" by "+how, func(t *testing.T) {
				w := newWorld(t)
				confined := spec
				confined.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.test", Audience: "models"}}
				w.create("a", confined)
				w.waits(w.pod("a"), "CrashLoopBackOff", "")
				policies := func(want int) {
					w.eventually(fmt.Sprintf("there are %d policies", want), func(ctx context.Context) error {
						list := &networkingv1.NetworkPolicyList{}
						if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
							return err
						}
						if len(list.Items) != want {
							return fmt.Errorf("there are %d", len(list.Items))
						}
						return nil
					})
				}
				policies(1)
				edit(w, "a", lift)
				policies(0)
			})
		}
	}
}

// Pods that run are told, whatever keeps the Service from being written.
func TestPodsAreToldWhileTheNameOfTheServiceIsTaken(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.Service{ObjectMeta: w.meta("s"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	w.create("s", serving())
	w.await("s", "names the Deployment", notReady(v1alpha1.ReasonNameTaken), hasWorkload("Deployment"), state(v1alpha1.StateRunning))

	w.remove(&corev1.Service{ObjectMeta: w.meta("s")})
	w.available("s")
}

package stages_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

// warm reads like a cache that has caught up: it copies what was stored.
type warm struct {
	client.Client
	objects []client.Object
}

func (w warm) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, obj := range w.objects {
		if reflect.TypeOf(obj) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
		}
	}
	return nil
}

func workload() *appsv1.Deployment {
	labels := map[string]string{"app": "settings"}
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "settings", Image: "settings:1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}}},
		},
	}}
}

// steady returns a controller of two children, and an object for which there is nothing to do.
func steady(t testing.TB) (*stages.Controller[*Settings], *Settings) {
	api := exampleClient(newSettings())
	b := stages.For[*Settings]("settings")
	b.Stage("ConfigurationReady").Do(func(ctx context.Context, p pass) error { return p.Ensure(ctx, data("message", "hello")) })
	b.Stage("WorkloadReady").After("ConfigurationReady").Do(func(ctx context.Context, p pass) error {
		p.Object().Status.Checksum = "same"
		return p.Ensure(ctx, workload())
	})
	c, err := b.Build(api, api)
	require.NoError(t, err)
	found := &Settings{}
	require.NoError(t, api.Get(t.Context(), key, found))
	_, err = c.Reconcile(t.Context(), found)
	require.NoError(t, err)
	config, deployment := &corev1.ConfigMap{}, &appsv1.Deployment{}
	for _, obj := range []client.Object{found, config, deployment} {
		require.NoError(t, api.Get(t.Context(), key, obj))
		obj.SetUID("uid-of-" + obj.GetUID())
	}
	found.SetUID("uid-1")
	c, err = b.Build(warm{api, []client.Object{config, deployment}}, api)
	require.NoError(t, err)
	return c, found
}

// A steady pass is what a resync costs for each object. It writes nothing, and copies each object once.
func BenchmarkSteadyPass(b *testing.B) {
	c, obj := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		_, err := c.Reconcile(b.Context(), obj)
		require.NoError(b, err)
	}
}

// The number is about twice what it takes. An apply patch would cost hundreds more.
func TestASteadyPassBuildsNoPatch(t *testing.T) {
	c, obj := steady(t)
	allocations := testing.AllocsPerRun(100, func() {
		_, err := c.Reconcile(t.Context(), obj)
		require.NoError(t, err)
	})
	assert.Less(t, allocations, 280.0)
}

package stages_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// words ensures a ConfigMap that has a key for each word of the message.
func words(ctx context.Context, p pass) error {
	child := &corev1.ConfigMap{Data: map[string]string{}}
	for word := range strings.FieldsSeq(p.Object().Spec.Message) {
		child.Data[word] = "ours"
	}
	return p.Ensure(ctx, child)
}

// says changes the message.
func (w *world) says(message string) {
	w.edit(func(s *v1.Settings) { s.Spec.Message = message })
}

// keys waits until the ConfigMap has exactly these keys.
func (w *world) keys(want map[string]string) {
	w.t.Helper()
	child := &corev1.ConfigMap{}
	harness.Eventually(w.t, soon, "the ConfigMap has its keys", func(ctx context.Context) error {
		if err := w.client.Get(ctx, w.key(), child); err != nil {
			return err
		}
		if !assert.ObjectsAreEqual(want, child.Data) {
			return errors.New("they are others")
		}
		return nil
	})
}

// adds puts a key of somebody else into the ConfigMap.
func (w *world) adds(key string) {
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key().Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"`+key+`":"theirs"}}`))
	require.NoError(w.t, w.client.Patch(w.t.Context(), child, patch))
}

func TestAFieldThatACreateSetIsRemovedLater(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(words, stages.Events(false)))
	w.create("a b c")
	w.keys(map[string]string{"a": "ours", "b": "ours", "c": "ours"})
	w.adds("d")
	w.says("a b")
	w.keys(map[string]string{"a": "ours", "b": "ours", "d": "theirs"})
	w.says("a")
	w.keys(map[string]string{"a": "ours", "d": "theirs"})
	// A create; the ownership and an apply; an apply. The pass of another's key finds nothing to do.
	r.wrote(t, map[string]int{"child": 4, "status": 3})

	again := &wire{}
	w.start(again, w.login, newScheme(t, v1.AddToScheme), again.one(words, stages.Events(false)))
	again.settles(t, soon, map[string]int{"call": 1})
}

func TestALostResponseOfACreateIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	r.fault = func(kind string, number int, request *http.Request) (*http.Response, error) {
		if kind != "child" || number != 1 {
			return nil, nil
		}
		response, err := r.next.RoundTrip(request)
		if err == nil {
			err = errors.Join(errBroken, response.Body.Close())
		}
		return nil, err
	}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(words, stages.Events(false)))
	w.create("a")
	w.shows(map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"})
	w.keys(map[string]string{"a": "ours"})
	r.wrote(t, map[string]int{"child": 1, "status": 2}) // The failure is reported too.

	again := &wire{}
	w.start(again, w.login, newScheme(t, v1.AddToScheme), again.one(words, stages.Events(false)))
	again.settles(t, soon, map[string]int{"call": 1})
}

func TestAnEditOfAnotherBetweenLookAndWriteIsKept(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]int{"before the ownership is moved": 2, "before the apply": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newWorld(t), &wire{}
			r.fault = func(kind string, number int, _ *http.Request) (*http.Response, error) {
				if kind == "child" && number == write {
					w.adds("d")
				}
				return nil, nil
			}
			w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(words, stages.Events(false)))
			w.create("a b")
			w.keys(map[string]string{"a": "ours", "b": "ours"})
			w.says("a")
			w.keys(map[string]string{"a": "ours", "d": "theirs"})
			r.wrote(t, map[string]int{"child": 4, "status": 2})
			assert.Empty(t, r.logged(), "a conflict is no error")
		})
	}
}

// The API server adds defaults, and addresses of its own, to what is created. Somebody else may change a default.
func TestDefaultsOfACreatedChildStay(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	labels := map[string]string{"app": "settings"}
	b := r.one(func(ctx context.Context, p pass) error {
		container := corev1.Container{Name: "settings", Image: "registry.test/settings:1"}
		service := &corev1.Service{Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
		for word := range strings.FieldsSeq(p.Object().Spec.Message) {
			container.Env = append(container.Env, corev1.EnvVar{Name: word, Value: "ours"})
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: word, Port: 80 + int32(len(service.Spec.Ports))})
		}
		deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		}}
		return errors.Join(p.Ensure(ctx, service), p.Ensure(ctx, deployment))
	}, stages.Events(false))
	w.start(r, w.cluster.Config, newScheme(t, v1.AddToScheme), b)
	read := func() (*corev1.Service, *appsv1.Deployment) {
		w.shows(map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"})
		service, deployment := &corev1.Service{}, &appsv1.Deployment{}
		require.NoError(t, w.client.Get(t.Context(), w.key(), service))
		require.NoError(t, w.client.Get(t.Context(), w.key(), deployment))
		return service, deployment
	}
	w.create("a b")
	service, deployment := read()
	scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
	require.NoError(t, w.client.SubResource("scale").Patch(t.Context(), deployment.DeepCopy(), scale))
	harness.Eventually(t, soon, "the Deployment's controller has nothing more to write", func(ctx context.Context) error {
		scaled := &appsv1.Deployment{}
		if err := w.client.Get(ctx, w.key(), scaled); err != nil {
			return err
		}
		if status := scaled.Status; status.ObservedGeneration != scaled.Generation || status.UnavailableReplicas != 3 {
			return fmt.Errorf("its status is %+v", status)
		}
		return nil
	})
	w.says("a")
	thinner, smaller := read()

	service.Spec.Ports = service.Spec.Ports[:2]
	assert.Equal(t, service.Spec, thinner.Spec, "all but the port is as before, the address too")
	deployment.Spec.Replicas = new(int32(3))
	container := &deployment.Spec.Template.Spec.Containers[0]
	container.Env = container.Env[:1]
	assert.Equal(t, deployment.Spec, smaller.Spec, "all but the variable is as before")
	r.wrote(t, map[string]int{"other": 2 + 4, "status": 2})
}

package controllers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// fixtures lists the documents of tests/fixtures/check.
func fixtures(t *testing.T, verdict string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "fixtures", "check", verdict, "*.yaml"))
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	return files
}

// fixture creates the document of a file.
func (w world) fixture(file string) (*v1alpha1.LoomAgent, error) {
	w.Helper()
	object := readDocument(w, "tests", "fixtures", "check", filepath.Base(filepath.Dir(file)), filepath.Base(file))
	object.SetNamespace(w.namespace)
	if err := w.Create(w.Context(), object, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return nil, err
	}
	agent := &v1alpha1.LoomAgent{}
	return agent, fromUnstructured(object, agent)
}

func fromUnstructured(object *unstructured.Unstructured, agent *v1alpha1.LoomAgent) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, agent)
}

// What the check accepts is accepted by the operator, and the API server takes
// every child of it.
func TestAcceptedFixturesGetTheirWorkload(t *testing.T) {
	w := newWorld(t)
	for _, file := range fixtures(t, "accepted") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := world{T: t, WithWatch: w.WithWatch, cluster: w.cluster, namespace: w.namespace}
			t.Parallel()
			agent, err := w.fixture(file)
			require.NoError(t, err)
			for _, reference := range gather.References(agent.Spec) {
				err := w.Create(t.Context(), referenced(w.namespace, reference))
				require.NoError(t, client.IgnoreAlreadyExists(err))
			}

			agent = w.await(agent.Name, "has a workload", func(agent *v1alpha1.LoomAgent) error {
				return hasWorkload(kinds[variantOf(agent)])(agent)
			})

			assert.Equal(t, v1alpha1.StateRunning, agent.Status.State)
			assert.Equal(t, &v1alpha1.CheckResult{Message: "The document was accepted."}, agent.Status.Check)
		})
	}
}

func variantOf(agent *v1alpha1.LoomAgent) string {
	switch {
	case agent.Spec.Schedule != nil:
		return "schedule"
	case agent.Spec.Command != nil:
		return "command"
	default:
		return "serve"
	}
}

// referenced makes what a document names.
func referenced(namespace string, reference gather.Reference) client.Object {
	object := metav1.ObjectMeta{Namespace: namespace, Name: reference.Name}
	switch reference.Kind {
	case gather.Secret:
		return &corev1.Secret{ObjectMeta: object, StringData: map[string]string{"key": "value"}}
	case gather.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{reference.Key: "value"}}
	default:
		return claim(object)
	}
}

func claim(object metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: object, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
	}}
}

// What the check refuses is refused by the API server, as the file says, or
// ends Refused with the check's own words.
func TestRefusedFixturesAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, file := range fixtures(t, "refused") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := world{T: t, WithWatch: w.WithWatch, cluster: w.cluster, namespace: w.namespace}
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			agent, err := w.fixture(file)
			if strings.Contains(string(text), "# schema: refused") {
				require.Error(t, err, "the schema refuses it")
				assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
				return
			}
			require.NoError(t, err, "the schema takes it")
			want := check.Run(check.Input{Agent: agent, DefaultImage: harness.AgentImage})

			agent = w.await(agent.Name, "is refused", state(v1alpha1.StateRefused), notReady(v1alpha1.ReasonRefused))

			assert.Equal(t, &v1alpha1.CheckResult{ExitCode: 1, Message: want.Message()}, agent.Status.Check)
			assert.NotEmpty(t, want.Findings)
			assert.Nil(t, agent.Status.Workload)
		})
	}
}

// Package manifests_test renders the kustomizations of config as kubectl does,
// and runs the operator with what the one for a single namespace grants.
package manifests_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/beyond10x/loom-operator/internal/cli"
)

const root = "../../"

// objects are rendered manifests by kind and name.
type objects map[string]unstructured.Unstructured

// render renders a folder, as `kubectl kustomize` does.
func render(t *testing.T, folder string) objects {
	t.Helper()
	return parse(t, rendered(t, folder))
}

func rendered(t *testing.T, folder string) []byte {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err, folder)
	text, err := resources.AsYaml()
	require.NoError(t, err)
	return text
}

func parse(t *testing.T, text []byte) objects {
	t.Helper()
	found := objects{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object.Object); err != nil {
			require.ErrorContains(t, err, "EOF")
			require.NotEmpty(t, found)
			return found
		}
		found[object.GetKind()+" "+object.GetName()] = object
	}
}

// get reads an object as strictly as the API server reads a manifest.
func get[T any](t *testing.T, from objects, key string) T {
	t.Helper()
	require.Contains(t, from, key)
	var object T
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(from[key].Object, &object, true))
	return object
}

// What kubectl apply -k installs is what `loom-operator install` prints.
func TestTheDefaultIsWhatInstallPrints(t *testing.T) {
	var printed bytes.Buffer
	require.Zero(t, cli.Run("dev", []string{"install"}, &printed, io.Discard))
	want, found := parse(t, printed.Bytes()), render(t, root+"config/default")
	assert.ElementsMatch(t, keys(want), keys(found))
	for key := range want {
		if key == "Deployment loom-operator" { // Read, since install writes out what is empty.
			assert.Equal(t, get[appsv1.Deployment](t, want, key).Spec, get[appsv1.Deployment](t, found, key).Spec)
			continue
		}
		assert.True(t, equality.Semantic.DeepEqual(want[key].Object, found[key].Object), key)
	}
}

func TestTheRulesForOneNamespaceAreThoseOfTheOperator(t *testing.T) {
	found := render(t, root+"config/namespaced")
	for key, object := range found {
		assert.Equal(t, "loom-agents", object.GetNamespace(), key)
	}
	assert.ElementsMatch(t, []string{
		"ServiceAccount loom-operator", "Role loom-operator", "RoleBinding loom-operator",
		"Role loom-operator-leader-election", "RoleBinding loom-operator-leader-election", "Deployment loom-operator",
	}, keys(found))

	var want []rbacv1.PolicyRule
	for _, rule := range get[rbacv1.ClusterRole](t, render(t, root+"config/rbac"), "ClusterRole loom-operator").Rules {
		if !strings.HasSuffix(rule.Resources[0], "reviews") {
			want = append(want, rule)
		}
	}
	assert.Equal(t, want, get[rbacv1.Role](t, found, "Role loom-operator").Rules)
	binding := get[rbacv1.RoleBinding](t, found, "RoleBinding loom-operator")
	assert.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "loom-operator"}, binding.RoleRef)
	assert.Equal(t, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "loom-agents", Name: "loom-operator"}}, binding.Subjects)

	manager := managerOf(t, found)
	assert.Contains(t, manager.Env, corev1.EnvVar{Name: "WATCH_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}})
	assert.Contains(t, manager.Args, "--metrics-bind-address=0")
	require.Len(t, manager.Ports, 1)
	assert.Equal(t, "probes", manager.Ports[0].Name)
}

// The ServiceMonitor finds the metrics Service and its port, and Prometheus has
// the role that reads them.
func TestPrometheusFindsTheMetrics(t *testing.T) {
	found := withComponent(t, "metrics")
	assert.Subset(t, keys(found), keys(render(t, root+"config/default")))
	service := get[corev1.Service](t, found, "Service loom-operator-metrics")
	monitor := found["ServiceMonitor loom-operator"]
	assert.Equal(t, "monitoring.coreos.com/v1", monitor.GetAPIVersion())
	assert.Equal(t, service.Namespace, monitor.GetNamespace())
	selected, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	require.NoError(t, err)
	require.NotEmpty(t, selected)
	assert.Subset(t, service.Labels, selected)
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	assert.Equal(t, service.Spec.Ports[0].Name, endpoints[0].(map[string]any)["port"])
	assert.Equal(t, "https", endpoints[0].(map[string]any)["scheme"])

	role := get[rbacv1.ClusterRole](t, found, "ClusterRole loom-operator-metrics-reader")
	binding := get[rbacv1.ClusterRoleBinding](t, found, "ClusterRoleBinding loom-operator-metrics-reader")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, []string{"/metrics"}, role.Rules[0].NonResourceURLs)
}

func TestThePolicyConfinesTheOperator(t *testing.T) {
	found := withComponent(t, "network-policy")
	assert.Subset(t, keys(found), keys(render(t, root+"config/default")))
	policy := get[networkingv1.NetworkPolicy](t, found, "NetworkPolicy loom-operator")
	deployment := get[appsv1.Deployment](t, found, "Deployment loom-operator")
	assert.Equal(t, deployment.Namespace, policy.Namespace)
	assert.Equal(t, deployment.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels)
	assert.Len(t, policy.Spec.PolicyTypes, 2)
	require.Len(t, policy.Spec.Ingress, 1)
	var ports []string
	for _, port := range managerOf(t, found).Ports {
		ports = append(ports, port.Name)
	}
	assert.Contains(t, ports, policy.Spec.Ingress[0].Ports[0].Port.String())
}

func managerOf(t *testing.T, from objects) corev1.Container {
	t.Helper()
	containers := get[appsv1.Deployment](t, from, "Deployment loom-operator").Spec.Template.Spec.Containers
	require.Len(t, containers, 1)
	return containers[0]
}

func keys(from objects) []string {
	var all []string
	for key := range from {
		all = append(all, key)
	}
	return all
}

// inNamespace is the installation for one namespace, as a person makes it for
// another one than it comes with.
func inNamespace(t *testing.T, namespace string) objects {
	t.Helper()
	return kustomized(t, func(config string) string {
		return "namespace: " + namespace + "\nresources:\n- " + config + "/namespaced\n"
	})
}

// withComponent is the default installation with a component of config.
func withComponent(t *testing.T, name string) objects {
	t.Helper()
	return kustomized(t, func(config string) string {
		return "resources:\n- " + config + "/default\ncomponents:\n- " + config + "/" + name + "\n"
	})
}

// kustomized renders a kustomization of a person's own, which is given the
// path to config.
func kustomized(t *testing.T, text func(config string) string) objects {
	t.Helper()
	folder := t.TempDir()
	target, err := filepath.Abs(root + "config")
	require.NoError(t, err)
	relative, err := filepath.Rel(folder, target)
	require.NoError(t, err)
	require.NoError(t, filesys.MakeFsOnDisk().WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text(relative))))
	return render(t, folder)
}

// kubectl 1.32 panics at several patches in one (kubernetes/kubernetes#131939).
func TestEachPatchIsOneDocument(t *testing.T) {
	folders, err := filepath.Glob(root + "config/*/kustomization.yaml")
	require.NoError(t, err)
	seen := 0
	for _, name := range folders {
		for _, patch := range strict[types.Kustomization](t, file(t, strings.TrimPrefix(name, root))).Patches {
			text := patch.Patch
			if patch.Path != "" {
				text = file(t, filepath.Join(strings.TrimPrefix(filepath.Dir(name), root), patch.Path))
			}
			assert.NotRegexp(t, `(?m)^---\s*$[\s\S]*\S`, text, name)
			seen++
		}
	}
	assert.NotZero(t, seen)
}

package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestAChildKeepsTheMetadataThatItBrings(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid-3"}}
	for name, c := range map[string]struct {
		owner client.Object
		own   metav1.ObjectMeta
		want  string
	}{
		"nothing": {owner, metav1.ObjectMeta{}, "demo/settings"},
		"a name":  {owner, metav1.ObjectMeta{Name: "own"}, "demo/own"},
		"a namespace, below a cluster-scoped owner": {node, metav1.ObjectMeta{Namespace: "own"}, "own/node"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.own.Annotations = map[string]string{"own": "yes"}
			_, err := w.Ensure(t.Context(), c.owner, &corev1.ConfigMap{ObjectMeta: c.own})
			require.NoError(t, err)
			var stored corev1.ConfigMapList
			require.NoError(t, w.server.List(t.Context(), &stored))
			require.Len(t, stored.Items, 1)
			assert.Equal(t, c.want, client.ObjectKeyFromObject(&stored.Items[0]).String())
			assert.Equal(t, "yes", stored.Items[0].Annotations["own"])
		})
	}
}

func TestAClusterScopedChildOfANamespacedOwnerIsRefused(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), meta.RESTScopeRoot)
	w := newWorld()
	server := fake.NewClientBuilder().WithRESTMapper(mapper).Build()
	w.Applier = New(server, server, "tests", "example.com/applied", w.clock)
	_, err := w.Ensure(t.Context(), owner, &rbacv1.ClusterRole{})
	assert.ErrorContains(t, err, "cluster-scoped resource must not have a namespace-scoped owner")
	var stored rbacv1.ClusterRoleList
	require.NoError(t, server.List(t.Context(), &stored))
	assert.Empty(t, stored.Items)
}

// service is an unstructured child.
func service(host string, ingress ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"spec":   map[string]any{"type": "ExternalName", "externalName": host},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	}}
}

func TestAnUnstructuredChildIsKeptLikeATypedOne(t *testing.T) {
	w := newWorld()
	writes, err := w.Ensure(t.Context(), owner, service("one"))
	require.NoError(t, err)
	assert.Equal(t, 1, writes, "it is created")
	stored := &corev1.Service{}
	require.NoError(t, w.server.Get(t.Context(), client.ObjectKeyFromObject(owner), stored))
	stored.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	require.NoError(t, w.server.Status().Update(t.Context(), stored))

	digests := map[string]bool{}
	for _, step := range []struct {
		what, host string
		child      *unstructured.Unstructured
		writes     int
	}{
		{"nothing to do", "one", service("one"), 0},
		{"a status, which is not ours to set", "one", service("one", map[string]any{"ip": "192.0.2.2"}), 0},
		{"a change", "two", service("two", map[string]any{"ip": "192.0.2.2"}), 2},
		{"nothing to do after it", "two", service("two"), 0},
	} {
		writes, err := w.Ensure(t.Context(), owner, step.child)
		require.NoError(t, err, step.what)
		assert.Equal(t, step.writes, writes, step.what)
		require.NoError(t, w.server.Get(t.Context(), client.ObjectKeyFromObject(owner), stored))
		assert.Equal(t, step.host, stored.Spec.ExternalName, step.what)
		digest := stored.Annotations["example.com/applied"]
		assert.NotEmpty(t, digest, step.what)
		digests[digest] = true
		ingress, _, _ := unstructured.NestedSlice(step.child.Object, "status", "loadBalancer", "ingress")
		assert.Equal(t, []any{map[string]any{"ip": "192.0.2.1"}}, ingress, "%s: the status is handed back", step.what)
	}
	assert.Len(t, digests, 2)
}

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The commands with kubectl are followed as they are written: install in both
// ways, uninstall in both, and the agents stay.
func TestTheDocumentsCommandsAreFollowed(t *testing.T) {
	cluster := controlPlane(t)
	folder := t.TempDir()
	release(t, folder)
	follow := func(section string) {
		for _, b := range blocks(t, "sh") {
			if b.section == section {
				kubectl(t, cluster, folder, b.text)
			}
		}
	}
	manager := func(namespace string) error {
		return cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "loom-operator"}, &appsv1.Deployment{})
	}
	follow("kubectl")
	follow("One namespace")
	require.NoError(t, manager("loom-operator-system"))
	require.NoError(t, manager("loom-agents"))
	require.NoError(t, cluster.Client.Create(t.Context(), agent("loom-agents", "stays", v1alpha1.LoomAgentSpec{})))

	follow("Uninstall")

	assert.True(t, apierrors.IsNotFound(manager("loom-operator-system")))
	assert.True(t, apierrors.IsNotFound(manager("loom-agents")))
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}} {
		assert.Empty(t, ours(t, cluster, list))
	}
	stays := agent("loom-agents", "stays", v1alpha1.LoomAgentSpec{})
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(stays), stays))
	kubectl(t, cluster, folder, "kubectl delete loomagent stays --namespace loom-agents\nkubectl delete namespace loom-agents")
}

// published is a file of this tree on the internet.
var published = regexp.MustCompile(`https://raw\.githubusercontent\.com/beyond10x/loom-operator/v[^/]+/(\S+)`)

// kubectl runs the commands of a block that are for kubectl and this cluster:
// it has neither OLM nor a node. Files of this tree are taken from here.
func kubectl(t *testing.T, cluster *harness.Cluster, folder, commands string) {
	t.Helper()
	programs, err := filepath.Abs(filepath.Join(filepath.Dir(cluster.Kubeconfig), "..", "..", "bin"))
	require.NoError(t, err)
	tree, err := filepath.Abs(root)
	require.NoError(t, err)
	for line := range strings.Lines(commands) {
		if !strings.HasPrefix(line, "kubectl ") || strings.Contains(line, "rollout") || strings.Contains(line, " subscriptions.") || strings.Contains(line, " csv ") {
			continue
		}
		line = published.ReplaceAllString(line, tree+"/$1")
		command := exec.CommandContext(t.Context(), "bash", "-euc", line)
		command.Dir = folder
		command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+programs+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s%s", line, output)
	}
}

// ours are the names in a list that begin as the operator's do.
func ours(t *testing.T, cluster *harness.Cluster, list client.ObjectList) []string {
	t.Helper()
	require.NoError(t, cluster.Client.List(t.Context(), list))
	items, err := meta.ExtractList(list)
	require.NoError(t, err)
	var found []string
	for _, item := range items {
		if object := item.(client.Object); strings.HasPrefix(object.GetName(), "loom-operator") {
			found = append(found, object.GetNamespace()+"/"+object.GetName())
		}
	}
	return found
}

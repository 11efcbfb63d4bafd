// Package olm_test installs the bundle as the Operator Lifecycle Manager does,
// once for each install mode, and runs the operator with what that grants and
// nothing more. There is no node: the operator is a process.
//
// What OLM makes of a bundle is read from its source, version 0.34:
// https://github.com/operator-framework/operator-lifecycle-manager.
package olm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// clusterName is this package's own control plane, since one of its operators
// looks after all namespaces.
const clusterName = "olm"

// installation is an operator installed in a namespace for an OperatorGroup.
type installation struct {
	*testing.T
	cluster *harness.Cluster
	csv     v1alpha1.ClusterServiceVersion
	// namespace is the operator's; targets are those of the OperatorGroup, none
	// means all.
	namespace string
	targets   []string
}

// install makes the service account, the roles and their bindings.
func install(t *testing.T, cluster *harness.Cluster, csv v1alpha1.ClusterServiceVersion, namespace string, targets ...string) installation {
	t.Helper()
	i := installation{T: t, cluster: cluster, csv: csv, namespace: namespace, targets: targets}
	strategy := i.csv.Spec.InstallStrategy.StrategySpec
	i.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: i.account()}})
	for n, permission := range strategy.Permissions {
		i.grant(n, permission)
	}
	for n, permission := range strategy.ClusterPermissions {
		i.grantEverywhere(fmt.Sprintf("cluster-%d", n), permission.Rules)
	}
	return i
}

// grant makes a Role in the operator's namespace and in each target. For all
// namespaces OLM lifts it to a ClusterRole, and lets the operator read the
// namespaces.
func (i installation) grant(n int, permission v1alpha1.StrategyDeploymentPermissions) {
	i.Helper()
	if len(i.targets) == 0 {
		read := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}
		i.grantEverywhere(fmt.Sprintf("lifted-%d", n), append(permission.Rules, read))
		return
	}
	name := fmt.Sprintf("%s-%d", i.csv.Name, n)
	for _, namespace := range distinct(append(i.targets, i.namespace)) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		i.create(&rbacv1.Role{ObjectMeta: meta, Rules: permission.Rules})
		i.create(&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: i.subjects(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}})
	}
}

func (i installation) grantEverywhere(suffix string, rules []rbacv1.PolicyRule) {
	i.Helper()
	meta := metav1.ObjectMeta{Name: i.namespace + "-" + suffix}
	i.create(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	i.create(&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: i.subjects(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}})
}

// create makes an object that goes with the test.
func (i installation) create(object client.Object) {
	i.Helper()
	require.NoError(i, i.cluster.Client.Create(i.Context(), object))
	i.Cleanup(func() {
		require.NoError(i, client.IgnoreNotFound(i.cluster.Client.Delete(context.Background(), object)))
	})
}

func (i installation) account() string {
	return i.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName
}

func (i installation) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: i.namespace, Name: i.account()}}
}

// user is the operator as the API server knows it.
func (i installation) user() string { return harness.UserOf(i.namespace, i.account()) }

// start runs the operator with the arguments of the Deployment. Being no pod,
// it is told its namespace, and where to serve its metrics.
func (i installation) start(metrics string) *harness.Operator {
	i.Helper()
	login, err := i.cluster.LoginAs(i.Context(), i.namespace, i.account())
	require.NoError(i, err)
	cluster := *i.cluster
	cluster.OperatorConfig = login
	container := i.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
	args := append(container.Args[1:], "--leader-election-namespace="+i.namespace, "--metrics-bind-address="+metrics)
	operator, err := harness.RunOperator(context.Background(), &cluster, i.TempDir(), strings.Join(i.targets, ","), args...)
	require.NoError(i, err)
	i.Cleanup(func() {
		assert.NoError(i, operator.Close())
		if i.Failed() {
			text := operator.Log()
			i.Logf("the end of the operator's log:\n%s", text[max(0, len(text)-8000):])
		}
	})
	operator.Working(i)
	return operator
}

func readCSV(t *testing.T) v1alpha1.ClusterServiceVersion {
	t.Helper()
	var csv v1alpha1.ClusterServiceVersion
	require.NoError(t, yaml.UnmarshalStrict(file(t, "bundle", "manifests", "loom-operator.clusterserviceversion.yaml"), &csv))
	return csv
}

func file(t *testing.T, elements ...string) []byte {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(append([]string{root}, elements...)...))
	require.NoError(t, err)
	return text
}

func distinct(values []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, value := range values {
		if !seen[value] {
			kept = append(kept, value)
		}
		seen[value] = true
	}
	return kept
}

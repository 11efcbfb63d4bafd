package manifests_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// With the Roles of one namespace and nothing else the operator runs agents of
// every variant there, and does not see those of another namespace.
func TestOneNamespaceNeedsRolesOnly(t *testing.T) {
	cluster := controlPlane(t)
	own := cluster.Namespace(t)
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "unseen-"}}
	require.NoError(t, cluster.Client.Create(t.Context(), other))
	t.Cleanup(func() { assert.NoError(t, cluster.Client.Delete(context.Background(), other)) })
	for _, namespace := range []string{own, other.Name} {
		require.NoError(t, cluster.Client.Create(t.Context(), agent(namespace, "serve", v1alpha1.LoomAgentSpec{})))
	}

	operator := start(t, cluster, own)
	for name, spec := range map[string]v1alpha1.LoomAgentSpec{
		"command":  {Command: &v1alpha1.CommandSpec{}},
		"schedule": {Schedule: &v1alpha1.ScheduleSpec{Cron: "0 0 29 2 *"}},
		"confined": {Boundary: &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.test", Audience: "models"}}},
	} {
		require.NoError(t, cluster.Client.Create(t.Context(), agent(own, name, spec)))
	}

	for name, workload := range map[string]client.Object{
		"serve": &appsv1.Deployment{}, "schedule": &batchv1.CronJob{}, "confined": &appsv1.Deployment{}, "command": nil,
	} {
		harness.Eventually(t, time.Minute, name+" runs", func(ctx context.Context) error {
			found := &v1alpha1.LoomAgent{}
			if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: own, Name: name}, found); err != nil {
				return err
			}
			if found.Status.State != v1alpha1.StateRunning || found.Status.Workload == nil {
				return fmt.Errorf("its status is %+v", found.Status)
			}
			if workload == nil {
				workload = &batchv1.Job{}
			}
			return cluster.Client.Get(ctx, client.ObjectKey{Namespace: own, Name: found.Status.Workload.Name}, workload)
		})
	}
	unseen := &v1alpha1.LoomAgent{}
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: other.Name, Name: "serve"}, unseen))
	assert.Zero(t, unseen.Status.ObservedGeneration)
	assert.NotContains(t, operator.Log(), "forbidden")
}

// The grants are the Roles and no more: the operator reads no other namespace
// and nothing of the cluster.
func TestOneNamespaceIsAllThatIsGranted(t *testing.T) {
	cluster := controlPlane(t)
	own := cluster.Namespace(t)
	install(t, cluster, own)
	login, err := cluster.LoginAs(t.Context(), own, "loom-operator")
	require.NoError(t, err)
	operator, err := client.New(login, client.Options{Scheme: harness.NewScheme()})
	require.NoError(t, err)

	require.NoError(t, operator.List(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(own)))
	for what, list := range map[string]client.ObjectList{
		"agents": &v1alpha1.LoomAgentList{}, "Secrets": &corev1.SecretList{}, "namespaces": &corev1.NamespaceList{}, "nodes": &corev1.NodeList{},
	} {
		assert.True(t, apierrors.IsForbidden(operator.List(t.Context(), list)), what)
	}
	err = operator.List(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(harness.OperatorNamespace))
	assert.True(t, apierrors.IsForbidden(err))
}

// controlPlane is a cluster of this package's own, since a test installs and
// uninstalls the operator in it.
func controlPlane(t *testing.T) *harness.Cluster {
	t.Helper()
	cluster, err := harness.Up(t.Context(), "manifests", 0)
	require.NoError(t, err)
	return cluster
}

// install applies the installation, all but the Deployment: there is no node.
func install(t *testing.T, cluster *harness.Cluster, namespace string) objects {
	t.Helper()
	found := inNamespace(t, namespace)
	for key, object := range found {
		if object.GetKind() == "Deployment" {
			continue
		}
		assert.Equal(t, namespace, object.GetNamespace(), key)
		require.NoError(t, cluster.Client.Create(t.Context(), &object))
	}
	return found
}

// start runs the operator with the arguments and the permissions that its pod
// would have.
func start(t *testing.T, cluster *harness.Cluster, namespace string) *harness.Operator {
	t.Helper()
	manager := managerOf(t, install(t, cluster, namespace))
	require.Equal(t, "manager", manager.Args[0])
	require.True(t, slices.ContainsFunc(manager.Env, func(v corev1.EnvVar) bool { return v.Name == "WATCH_NAMESPACE" }), "the namespace that follows")
	login, err := cluster.LoginAs(t.Context(), namespace, "loom-operator")
	require.NoError(t, err)
	confined := *cluster
	confined.OperatorConfig = login
	operator, err := harness.RunOperator(context.Background(), &confined, t.TempDir(), namespace, append(manager.Args[1:], "--leader-election-namespace="+namespace)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := operator.Close(); err != nil || t.Failed() {
			t.Error(errors.Join(err, errors.New(operator.Log())))
		}
	})
	operator.Working(t)
	return operator
}

func agent(namespace, name string, spec v1alpha1.LoomAgentSpec) *v1alpha1.LoomAgent {
	spec.Agent = v1alpha1.NewAgentDocument(`{"schema": "loom.agent/1", "model": "default", "instructions": "Wait."}`)
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

package scorecard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/internal/scorecard"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const crdName = "loomagents.loom.beyond10x.dev"

// fixture is an installation that a fault is planted in.
type fixture struct {
	*testing.T
	*installation
	// crds reads and writes CustomResourceDefinitions.
	crds client.Client
}

// run runs a test with the permissions of config/scorecard.
func (f fixture) run(ctx context.Context, name, folder string) v1alpha3.TestResult {
	f.Helper()
	login, err := f.cluster.LoginAs(ctx, f.namespace, "loom-scorecard")
	require.NoError(f, err)
	status := scorecard.Run(ctx, name, folder, func() (scorecard.Cluster, error) { return scorecard.Connect(login, f.namespace) })
	require.Len(f, status.Results, 1)
	return status.Results[0]
}

func expect(result v1alpha3.TestResult, state v1alpha3.State, text string) error {
	if said := strings.Join(result.Errors, "\n"); result.State != state || !strings.Contains(said, text) {
		return fmt.Errorf("it is %s: %s", result.State, said)
	}
	return nil
}

func (f fixture) deployment() *appsv1.Deployment {
	f.Helper()
	deployment := &appsv1.Deployment{}
	f.do(f.cluster.Client.Get(f.Context(), f.operator(), deployment))
	return deployment
}

// available stands in for the kubelet of the operator's pods.
func (f fixture) available() {
	f.Helper()
	harness.Eventually(f, 20*time.Second, "a pod of the operator is ready", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := f.cluster.Client.List(ctx, pods, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errors.New("there is none")
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`))
		return f.cluster.Client.Status().Patch(ctx, &pods.Items[0], patch)
	})
}

// rules changes what is granted in the namespace of the operator.
func (f fixture) rules(change func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) {
	f.Helper()
	for _, object := range f.made {
		if role, ok := object.(*rbacv1.Role); ok {
			role.Rules = change(role.Rules)
			f.do(f.cluster.Client.Update(f.Context(), role))
		}
	}
}

// schema changes the CustomResourceDefinition until the end of the test.
func (f fixture) schema(change func(*apiextensionsv1.CustomResourceDefinition)) {
	f.Helper()
	edit := func(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := f.crds.Get(ctx, client.ObjectKey{Name: crdName}, crd); err != nil {
				return err
			}
			change(crd)
			return f.crds.Update(ctx, crd)
		})
	}
	var before apiextensionsv1.CustomResourceDefinitionSpec
	f.do(edit(f.Context(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		before = *crd.Spec.DeepCopy()
		change(crd)
	}))
	f.Cleanup(func() {
		restore := func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec = before }
		assert.NoError(f, edit(context.Background(), restore))
	})
}

func (f fixture) do(err error) {
	f.Helper()
	require.NoError(f, err)
}

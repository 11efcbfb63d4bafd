package scorecard_test

import (
	"context"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	loom "github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// clusterName is this package's own control plane, since the faults are those
// of a whole cluster.
const clusterName = "scorecard"

// A fault in the cluster turns a test red, whatever the bundle says, and the
// text says what it is. There is no node, so no pod is ready unless
// the test says so.
func TestAFaultInTheClusterIsFound(t *testing.T) {
	cluster, err := harness.Up(t.Context(), clusterName, 0)
	require.NoError(t, err)
	folder, err := build(t.TempDir(), func(*bundle.Release) {})
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	crds, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	for name, fault := range map[string]struct {
		test, want string
		plant      func(fixture)
	}{
		"nothing is wrong with the operator":    {"loom-operator-runs", "", fixture.available},
		"nothing is wrong with its permissions": {"loom-permissions-given", "", func(fixture) {}},
		"nothing is wrong with the schema":      {"loom-samples-admitted", "", func(fixture) {}},
		"the operator is not there": {"loom-operator-runs", "The operator does not run in the namespace ", func(f fixture) {
			f.do(f.cluster.Client.Delete(f.Context(), f.deployment()))
		}},
		"no pod of the operator is available": {"loom-operator-runs", "no pod of the Deployment loom-operator is available", func(fixture) {}},
		"the operator is of another image": {"loom-operator-runs", `runs "ghcr.io/beyond10x/loom-operator:0.0.1"`, func(f fixture) {
			deployment := f.deployment()
			// Kubernetes writes the status of a new Deployment at the same time, which a patch does not mind.
			from := client.StrategicMergeFrom(deployment.DeepCopy())
			deployment.Spec.Template.Spec.Containers[0].Image = "ghcr.io/beyond10x/loom-operator:0.0.1"
			f.do(f.cluster.Client.Patch(f.Context(), deployment, from))
		}},
		"a rule is not granted": {"loom-permissions-given", "The operator needs create batch/cronjobs", func(f fixture) {
			f.rules(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
				kept := rules[:0]
				for _, rule := range rules {
					if rule.APIGroups[0] != "batch" {
						kept = append(kept, rule)
					}
				}
				return kept
			})
		}},
		"a dangerous rule is granted by somebody else": {"loom-permissions-given", "may escalate rbac.authorization.k8s.io/roles, which is dangerous", func(f fixture) {
			f.rules(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
				return append(rules, rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"*"}})
			})
		}},
		"every lease may be written": {"loom-permissions-given", "may update coordination.k8s.io/leases named another, which is dangerous", func(f fixture) {
			f.rules(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
				for i := range rules {
					rules[i].ResourceNames = nil
				}
				return rules
			})
		}},
		"a field is required that was not": {"loom-samples-admitted", "spec.secretRef: Required value", func(f fixture) {
			f.schema(func(crd *apiextensionsv1.CustomResourceDefinition) {
				blocks := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
				spec := blocks["spec"]
				spec.Required = append(spec.Required, "secretRef")
				blocks["spec"] = spec
			})
		}},
		"the validation of a block is removed": {"loom-samples-admitted", "A document with two inputs of a schedule is admitted.", func(f fixture) {
			f.schema(func(crd *apiextensionsv1.CustomResourceDefinition) {
				blocks := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["schedule"].Properties
				input := blocks["input"]
				input.XValidations = nil
				blocks["input"] = input
			})
		}},
		"anybody writes the status": {"loom-samples-admitted", "The status of the example support-desk is kept", func(f fixture) {
			f.schema(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Subresources = nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := install(t.Context(), cluster, folder)
			t.Cleanup(func() { assert.NoError(t, i.remove(context.Background())) })
			require.NoError(t, err)
			f := fixture{T: t, installation: i, crds: crds}
			fault.plant(f)

			// The API server takes a moment to go by a new role or schema.
			harness.Eventually(t, 20*time.Second, "the test says so", func(ctx context.Context) error {
				result := f.run(ctx, fault.test, folder)
				if fault.want == "" {
					return expect(result, v1alpha3.PassState, "")
				}
				return expect(result, v1alpha3.FailState, fault.want)
			})
		})
	}
}

// An agent that nobody looks after is given up in the end, and removed.
func TestALifeWithoutAnOperatorIsRed(t *testing.T) {
	cluster, err := harness.Up(t.Context(), clusterName, 0)
	require.NoError(t, err)
	folder, err := build(t.TempDir(), func(*bundle.Release) {})
	require.NoError(t, err)
	i, err := install(t.Context(), cluster, folder)
	t.Cleanup(func() { assert.NoError(t, i.remove(context.Background())) })
	require.NoError(t, err)
	t.Cleanup(func() {
		left := &loom.LoomAgentList{}
		require.NoError(t, cluster.Client.List(context.Background(), left, client.InNamespace(i.namespace)))
		assert.Empty(t, left.Items)
	})
	for name, until := range map[string]string{
		"loom-serve-lives": "it begins", "loom-command-lives": "it begins", "loom-schedule-lives": "it begins", "loom-refused-recovers": "it is refused",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()

			result := fixture{T: t, installation: i}.run(ctx, name, folder)

			assert.NoError(t, expect(result, v1alpha3.FailState, "it was waited in vain until "+until))
		})
	}
}

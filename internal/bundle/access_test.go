package bundle_test

import (
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestThePermissionsAreTheOnesOfConfig(t *testing.T) {
	strategy := version(t).Spec.InstallStrategy.StrategySpec
	operator := read[rbacv1.ClusterRole](t, "config/rbac/role.yaml")
	election := read[rbacv1.Role](t, "config/rbac/leader_election_role.yaml")

	assert.Equal(t, permissions(operator.Rules, election.Rules), permissions(rules(t, strategy.Permissions), rules(t, strategy.ClusterPermissions)))
}

// In a namespaced installation the operator is granted nothing about other
// namespaces: only the two reviews that the metrics endpoint asks for are
// granted in the whole cluster.
func TestOnlyReviewsAreGrantedEverywhere(t *testing.T) {
	strategy := version(t).Spec.InstallStrategy.StrategySpec
	assert.Equal(t, map[string]bool{
		"create authentication.k8s.io/tokenreviews": true, "create authorization.k8s.io/subjectaccessreviews": true,
	}, permissions(rules(t, strategy.ClusterPermissions)))
}

func TestNothingIsGrantedByWildcard(t *testing.T) {
	strategy := version(t).Spec.InstallStrategy.StrategySpec
	granted := permissions(rules(t, strategy.Permissions), rules(t, strategy.ClusterPermissions))
	for permission := range granted {
		assert.NotContains(t, permission, "*")
	}
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		assert.NotContains(t, granted, verb+" /secrets")
	}
	for _, verb := range []string{"bind", "escalate", "impersonate"} {
		for permission := range granted {
			assert.False(t, strings.HasPrefix(permission, verb), permission)
		}
	}
	assert.Contains(t, granted, "update loom.beyond10x.dev/loomagents/finalizers", "OpenShift asks for it before it lets a child block its owner")
}

// Consoles show the children of an agent by this list. What the operator makes
// is what it may create; pods are made for it.
func TestTheResourcesAreWhatTheOperatorMakes(t *testing.T) {
	csv := version(t)
	made := map[string]bool{"/pods": true}
	for permission := range permissions(rules(t, csv.Spec.InstallStrategy.StrategySpec.Permissions)) {
		resource, created := strings.CutPrefix(permission, "create ")
		if created && resource != "coordination.k8s.io/leases" && resource != "/events" {
			made[resource] = true
		}
	}
	listed := map[string]bool{}
	for _, resource := range csv.Spec.CustomResourceDefinitions.Owned[0].Resources {
		group, err := schema.ParseGroupVersion(resource.Version)
		require.NoError(t, err)
		plural, _ := meta.UnsafeGuessKindToResource(group.WithKind(resource.Kind))
		listed[plural.Group+"/"+plural.Resource] = true
	}
	assert.Equal(t, made, listed)
}

// Metrics are read through the Service, and by whoever has the role.
func TestTheServiceReachesTheMetrics(t *testing.T) {
	service := read[corev1.Service](t, "bundle/manifests/loom-operator-metrics_v1_service.yaml")
	deployment := version(t).Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	assert.Subset(t, deployment.Template.Labels, service.Spec.Selector)
	require.Len(t, service.Spec.Ports, 1)
	var ports []string
	for _, port := range deployment.Template.Spec.Containers[0].Ports {
		ports = append(ports, port.Name)
	}
	assert.Contains(t, ports, service.Spec.Ports[0].TargetPort.String())
}

func rules(t *testing.T, permissions []v1alpha1.StrategyDeploymentPermissions) []rbacv1.PolicyRule {
	t.Helper()
	require.Len(t, permissions, 1)
	assert.Equal(t, podOf(t, version(t)).ServiceAccountName, permissions[0].ServiceAccountName)
	return permissions[0].Rules
}

// permissions takes rules apart, so that they can be compared whatever they
// are grouped by: "VERB GROUP/RESOURCE NAME".
func permissions(lists ...[]rbacv1.PolicyRule) map[string]bool {
	found := map[string]bool{}
	for _, list := range lists {
		for _, rule := range list {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, verb := range rule.Verbs {
				for _, url := range rule.NonResourceURLs {
					found[verb+" "+url] = true
				}
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						for _, name := range names {
							found[strings.TrimSpace(verb+" "+group+"/"+resource+" "+name)] = true
						}
					}
				}
			}
		}
	}
	return found
}

package scorecard

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/config"
)

// operatorRoles are the roles that the operator is bound to without OLM.
var operatorRoles = []string{"rbac/role.yaml", "rbac/leader_election_role.yaml"}

// permissionsExact wants the bundle to grant what config/rbac grants: less, and
// the operator fails; more, and it may do what nobody has reviewed.
func permissionsExact(s subject) (found []finding) {
	needed := map[string]bool{}
	for _, file := range operatorRoles {
		text, err := config.Files.ReadFile(file)
		if err != nil {
			return []finding{fault("The roles of the operator cannot be read: %v.", err)}
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(text, &role); err != nil {
			return []finding{fault("The roles of the operator cannot be read: %s: %v.", file, err)}
		}
		permit(needed, role.Rules)
	}
	granted := map[string]bool{}
	strategy := s.CSV.Spec.InstallStrategy.StrategySpec
	for _, permission := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		permit(granted, permission.Rules)
	}
	for _, permission := range slices.Sorted(maps.Keys(needed)) {
		if !granted[permission] {
			found = append(found, fault("The operator needs %s, which is not granted.", permission))
		}
	}
	for _, permission := range slices.Sorted(maps.Keys(granted)) {
		if !needed[permission] {
			found = append(found, fault("The operator is granted %s, which it does not need.", permission))
		}
	}
	return found
}

// permit takes rules apart, so that they can be compared whatever they are
// grouped by.
func permit(into map[string]bool, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, object := range objectsOf(rule) {
				into[verb+" "+object] = true
			}
		}
	}
}

func objectsOf(rule rbacv1.PolicyRule) []string {
	objects := slices.Clone(rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			object := strings.TrimPrefix(group+"/"+resource, "/")
			if len(rule.ResourceNames) == 0 {
				objects = append(objects, object)
			}
			for _, name := range rule.ResourceNames {
				objects = append(objects, object+" named "+name)
			}
		}
	}
	return objects
}

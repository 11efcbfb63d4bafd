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

// permission is one thing that somebody may do: a verb on a resource, with its
// subresource after a slash, or on a path. Without a name it is on all of them.
type permission struct{ verb, group, resource, name, path string }

func (p permission) String() string {
	object := p.path + strings.TrimPrefix(p.group+"/"+p.resource, "/")
	if p.name != "" {
		object += " named " + p.name
	}
	return p.verb + " " + object
}

// permissionsExact wants the bundle to grant what config/rbac grants: less, and
// the operator fails; more, and it may do what nobody has reviewed.
func permissionsExact(s subject) (found []finding) {
	needed, err := neededPermissions()
	if err != nil {
		return []finding{fault("The roles of the operator cannot be read: %v.", err)}
	}
	granted := map[permission]bool{}
	strategy := s.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		permit(granted, p.Rules)
	}
	for _, p := range sorted(needed) {
		if !granted[p] {
			found = append(found, fault("The operator needs %s, which is not granted.", p))
		}
	}
	for _, p := range sorted(granted) {
		if !needed[p] {
			found = append(found, fault("The operator is granted %s, which it does not need.", p))
		}
	}
	return found
}

// neededPermissions are those that config/rbac grants.
func neededPermissions() (map[permission]bool, error) {
	needed := map[permission]bool{}
	for _, file := range operatorRoles {
		text, err := config.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(text, &role); err != nil {
			return nil, err
		}
		permit(needed, role.Rules)
	}
	return needed, nil
}

// permit takes rules apart, so that they can be compared whatever they are
// grouped by.
func permit(into map[permission]bool, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, p := range objectsOf(rule) {
				p.verb = verb
				into[p] = true
			}
		}
	}
}

func objectsOf(rule rbacv1.PolicyRule) (objects []permission) {
	for _, path := range rule.NonResourceURLs {
		objects = append(objects, permission{path: path})
	}
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				objects = append(objects, permission{group: group, resource: resource, name: name})
			}
		}
	}
	return objects
}

func sorted(permissions map[permission]bool) []permission {
	return slices.SortedFunc(maps.Keys(permissions), func(a, b permission) int { return strings.Compare(a.String(), b.String()) })
}

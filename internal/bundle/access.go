package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const accessFolder = "config/rbac"

// access is what config/rbac grants. OLM makes the service account and its
// roles itself, from the rules in the ClusterServiceVersion.
type access struct {
	account string
	// everywhere are the rules on what has no namespace; within are the others.
	everywhere, within []rbacv1.PolicyRule
	// offered are the manifests of the roles for people, by path in the bundle.
	offered map[string][]byte
}

// role is a Role or a ClusterRole, and binding binds one. The fields that the
// two kinds share have the same names.
type (
	role    = rbacv1.ClusterRole
	binding = rbacv1.ClusterRoleBinding
)

// readAccess sorts the roles of config/rbac: those that are bound to the
// operator's service account are its permissions, the others are offered to
// people.
func readAccess(source fs.FS) (access, error) {
	files, err := fs.Glob(source, accessFolder+"/*.yaml")
	if err != nil {
		return access{}, err
	}
	granted := access{offered: map[string][]byte{}}
	roles, bound := map[string]role{}, map[string]bool{}
	for _, file := range files {
		kind, err := kindOf(source, file)
		if err != nil {
			return access{}, err
		}
		switch kind {
		case "Role", "ClusterRole":
			roles[file], err = read[role](source, file)
		case "RoleBinding", "ClusterRoleBinding":
			var b binding
			if b, err = read[binding](source, file); err == nil {
				bound[b.RoleRef.Kind+"/"+b.RoleRef.Name] = true
			}
		case "ServiceAccount":
			var account metav1.PartialObjectMetadata
			account, err = read[metav1.PartialObjectMetadata](source, file)
			granted.account = account.Name
		case "Kustomization":
		default:
			err = fmt.Errorf("%s: a bundle has no place for the kind %q", file, kind)
		}
		if err != nil {
			return access{}, err
		}
	}
	for _, file := range files {
		if r, ok := roles[file]; ok {
			if err := granted.add(source, file, r, bound[r.Kind+"/"+r.Name]); err != nil {
				return access{}, err
			}
		}
	}
	return granted, nil
}

func (a *access) add(source fs.FS, file string, r role, bound bool) error {
	if !bound {
		text, err := fs.ReadFile(source, file)
		a.offered[manifestsFolder+r.Name+"_"+rbacv1.GroupName+"_v1_clusterrole.yaml"] = text
		return err
	}
	for _, rule := range r.Rules {
		switch global := slices.ContainsFunc(rule.Resources, hasNoNamespace); {
		case !global:
			a.within = append(a.within, rule)
		case slices.ContainsFunc(rule.Resources, func(r string) bool { return !hasNoNamespace(r) }):
			return fmt.Errorf("%s: one rule is about %v; give those without a namespace a rule of their own", file, rule.Resources)
		default:
			a.everywhere = append(a.everywhere, rule)
		}
	}
	return nil
}

// hasNoNamespace tells whether a resource is granted for the whole cluster in
// every install mode. All others are granted in the namespaces that the
// operator looks after.
func hasNoNamespace(resource string) bool {
	return resource == "tokenreviews" || resource == "subjectaccessreviews"
}

func (a *access) grant(to *v1alpha1.StrategyDetailsDeployment) {
	to.Permissions = []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: a.account, Rules: a.within}}
	to.ClusterPermissions = []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: a.account, Rules: a.everywhere}}
}

func kindOf(source fs.FS, file string) (string, error) {
	if path.Base(file) == "kustomization.yaml" {
		return "Kustomization", nil
	}
	object, err := readAny(source, file)
	if err != nil {
		return "", err
	}
	kind, _ := object["kind"].(string)
	return kind, nil
}

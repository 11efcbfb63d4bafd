package scorecard

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// dangerous are permissions with which the operator could become somebody else,
// run what it likes or destroy what is not its own.
var dangerous = []permission{
	{verb: "*", group: "*", resource: "*"},
	{verb: "create", resource: "pods"}, {verb: "create", resource: "pods/exec"}, {verb: "create", resource: "pods/ephemeralcontainers"},
	{verb: "create", resource: "secrets"}, {verb: "update", resource: "secrets"}, {verb: "patch", resource: "secrets"}, {verb: "delete", resource: "secrets"},
	{verb: "create", resource: "serviceaccounts/token"}, {verb: "impersonate", resource: "users"}, {verb: "impersonate", resource: "serviceaccounts"},
	{verb: "delete", resource: "persistentvolumeclaims"}, {verb: "delete", resource: "namespaces"}, {verb: "patch", resource: "nodes"},
	{verb: "create", group: rbac, resource: "rolebindings"}, {verb: "create", group: rbac, resource: "clusterrolebindings"},
	{verb: "bind", group: rbac, resource: "clusterroles"}, {verb: "escalate", group: rbac, resource: "roles"}, {verb: "escalate", group: rbac, resource: "clusterroles"},
	{verb: "create", group: crds, resource: "customresourcedefinitions"}, {verb: "delete", group: crds, resource: "customresourcedefinitions"},
	{verb: "create", group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations"},
	{verb: "approve", group: "certificates.k8s.io", resource: "signers"},
	{verb: "create", group: "loom.beyond10x.dev", resource: "loomagents"}, {verb: "delete", group: "loom.beyond10x.dev", resource: "loomagents"},
	{verb: "update", group: "coordination.k8s.io", resource: "leases", name: "another"},
}

const (
	rbac = "rbac.authorization.k8s.io"
	crds = "apiextensions.k8s.io"
)

// clusterWide are the resources that the operator uses outside of namespaces.
var clusterWide = []string{"tokenreviews", "subjectaccessreviews"}

// permissionsGiven asks the API server what the operator's service account may
// do: all that it needs, and nothing dangerous, whoever else granted it.
func permissionsGiven(ctx context.Context, s subject, c Cluster) (found []finding) {
	needed, err := neededPermissions()
	if err != nil {
		return []finding{fault("The roles of the operator cannot be read: %v.", err)}
	}
	for _, deployment := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		account := deployment.Spec.Template.Spec.ServiceAccountName
		for _, p := range slices.Concat(sorted(needed), dangerous) {
			allowed, err := c.allows(ctx, account, p)
			switch {
			case err != nil:
				return append(found, fault("Whether %s may %s cannot be told: %v.", account, p, err))
			case needed[p] && !allowed:
				found = append(found, fault("The operator needs %s, and %s may not.", p, account))
			case !needed[p] && allowed:
				found = append(found, fault("%s may %s, which is dangerous.", account, p))
			}
		}
	}
	return found
}

func (c Cluster) allows(ctx context.Context, account string, p permission) (bool, error) {
	resource, subresource, _ := strings.Cut(p.resource, "/")
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: c.Namespace, Verb: p.verb, Group: p.group, Resource: resource, Subresource: subresource, Name: p.name,
	}
	if slices.Contains(clusterWide, resource) {
		attributes.Namespace = ""
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + c.Namespace + ":" + account,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + c.Namespace, "system:authenticated"},
		ResourceAttributes: attributes,
	}}
	err := c.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The right to read Jobs is taken away while a create is under way, and the
// create is lost. The status says what is not known and what to do, nothing is
// created meanwhile, and both ways out lead to one run.
func TestCreateOutcomeUnknown(t *testing.T) {
	for name, wayOut := range map[string]func(context.Context, *life, permissions) error{
		"the right comes back": func(ctx context.Context, _ *life, p permissions) error { return p.give(ctx) },
		"a person has looked and removes the mark": func(ctx context.Context, l *life, _ permissions) error {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.CreatePendingAnnotation)
			agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
			l.proxy.creates.begin() // The person's look takes the place of the read.
			return l.cluster.Client.Patch(ctx, agent, client.RawPatch(types.MergePatchType, patch))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := cluster(t)
			rights := newPermissions(t, cluster)
			var described string
			result, err := live(t.Context(), plan{
				cluster: rights.cluster, namespace: rights.role.Namespace, name: "unknown", replicas: 1, steps: []step{completes("create", 7), deletes()},
				disturb: func(l *life, x *exchange) bool {
					if x.Request != (Request{Step: "create", Verb: "create", Resource: "jobs", N: 1}) {
						return false
					}
					l.failed(rights.takeAway(t.Context()))
					x.reset()
					return true
				},
				mishap: func(ctx context.Context, l *life, s step) error {
					if s.name != "create" {
						return nil
					}
					if err := await(ctx, converges, func(context.Context) error {
						if !slices.Contains(l.witness.said(), v1alpha1.ReasonCreateOutcomeUnknown) {
							return fmt.Errorf("ready was %v, never %s", l.witness.said(), v1alpha1.ReasonCreateOutcomeUnknown)
						}
						return nil
					}); err != nil {
						return err
					}
					var err error
					described, err = describe(ctx, l)
					return errors.Join(err, wayOut(ctx, l, rights))
				},
			})

			require.NoError(t, err)
			assert.Empty(t, result.violations)
			t.Log(described)
			for _, text := range []string{"CreateOutcomeUnknown", "cannot get resource", v1alpha1.CreatePendingAnnotation, "To clear it by hand", "ReconcileError"} {
				assert.Contains(t, described, text)
			}
		})
	}
}

// permissions are those of the operator, in one namespace, given to an account
// of its own.
type permissions struct {
	cluster *harness.Cluster
	role    *rbacv1.Role
	rules   []rbacv1.PolicyRule
}

func newPermissions(t *testing.T, cluster *harness.Cluster) permissions {
	t.Helper()
	const name = "operator"
	named := metav1.ObjectMeta{Namespace: cluster.Namespace(t), Name: name}
	all := &rbacv1.ClusterRole{}
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKey{Name: "loom-operator"}, all))
	role := &rbacv1.Role{ObjectMeta: named, Rules: all.Rules}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: named}, role,
		&rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: named.Namespace, Name: name}},
		},
	} {
		require.NoError(t, cluster.Client.Create(t.Context(), object))
	}
	login, err := cluster.LoginAs(t.Context(), named.Namespace, name)
	require.NoError(t, err)
	own := *cluster
	own.OperatorConfig = login
	return permissions{cluster: &own, role: role, rules: all.Rules}
}

// takeAway leaves the account everything but the right to read one Job.
func (p permissions) takeAway(ctx context.Context) error {
	role := p.role.DeepCopy()
	for i, rule := range role.Rules {
		if slices.Contains(rule.Resources, "jobs") {
			role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "get" || verb == "*" })
		}
	}
	return p.cluster.Client.Patch(ctx, role, client.MergeFrom(p.role))
}

func (p permissions) give(ctx context.Context) error {
	role := &rbacv1.Role{}
	if err := p.cluster.Client.Get(ctx, client.ObjectKeyFromObject(p.role), role); err != nil {
		return fmt.Errorf("give the right back: %w", err)
	}
	role.Rules = p.rules
	return p.cluster.Client.Update(ctx, role)
}

// describe is what a person sees.
func describe(ctx context.Context, l *life) (string, error) {
	kubectl := filepath.Join(filepath.Dir(l.cluster.Kubeconfig), "..", "..", "bin", "kubectl")
	cmd := exec.CommandContext(ctx, kubectl, "--kubeconfig", l.cluster.Kubeconfig, "--namespace", l.namespace, "describe", "loomagent", l.name)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl describe: %w\n%s", err, output)
	}
	return string(output), nil
}

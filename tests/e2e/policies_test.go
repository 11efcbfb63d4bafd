package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// admissionLabel on a pod, by pod.labels of an agent, says which of the
// policies below meets it, as the names of teams and tools do in a real cluster.
const admissionLabel = "admission.test/policy"

// pods of one namespace with the label, in the form that all policies take.
const podsOf = `
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    objectSelector: {matchLabels: {` + admissionLabel + `: %[2]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]`

// mutates changes pods: %[3]s is the list of JSON patches in CEL.
const mutates = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[2]s.%[1]s}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:` + podsOf + `
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        %[3]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[2]s.%[1]s}
spec: {policyName: %[2]s.%[1]s}
`

// denies refuses pods.
const denies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[2]s.%[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:` + podsOf + `
  validations: [{expression: "has(object.metadata.labels.team)", message: "every pod needs the label team"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[2]s.%[1]s}
spec: {policyName: %[2]s.%[1]s, validationActions: [Deny]}
`

// unreachable is a webhook that nobody serves.
const unreachable = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[2]s.%[1]s}
webhooks:
- name: pods.webhook.test
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 1
  failurePolicy: Fail
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  objectSelector: {matchLabels: {` + admissionLabel + `: %[2]s}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`

// withAdmission asks for the policy of a name.
func withAdmission(spec v1alpha1.LoomAgentSpec, policy string) v1alpha1.LoomAgentSpec {
	spec.Pod = &v1alpha1.PodSettings{Labels: map[string]string{admissionLabel: policy}}
	return spec
}

// admission installs a policy for a namespace, under a name that agents ask for,
// and waits until the API server acts on it. It goes with the test.
func admission(t *testing.T, namespace, policy, text string, more ...any) {
	t.Helper()
	text = fmt.Sprintf(text, append([]any{namespace, policy}, more...)...)
	require.NoError(t, cluster.Apply(t.Context(), []byte(text)))
	t.Cleanup(func() {
		_, err := kube.Pipe(context.Background(), text, "delete", "--ignore-not-found", "-f", "-")
		require.NoError(t, err)
	})
	harness.Eventually(t, patience, "the policy "+policy+" is in force", func(ctx context.Context) error {
		return inForce(ctx, namespace, policy)
	})
}

// inForce tries the policy on a pod that is never made.
func inForce(ctx context.Context, namespace, policy string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe", Labels: map[string]string{admissionLabel: policy}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers:      []corev1.Container{{Name: v1alpha1.AgentContainer, Image: images.Agent.Reference, SecurityContext: confined()}},
		},
	}
	err := cluster.Client.Create(ctx, pod, client.DryRunAll)
	switch {
	case err != nil && (strings.Contains(err.Error(), policy) || strings.Contains(err.Error(), "failed calling webhook")):
		return nil
	case err != nil:
		return err
	case len(pod.Spec.Containers) > 1 || len(pod.Spec.InitContainers) > 0 || pod.Spec.SecurityContext.RunAsUser != nil:
		return nil
	default:
		return errors.New("it does nothing")
	}
}

// confined is what the level restricted asks of a container.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// injected is a container in CEL, of the kind that a mesh or a secret store adds.
func injected(list, name, args string) string {
	return fmt.Sprintf(`Object.spec.%[1]s{name: "%[2]s", image: "%[3]s", args: [%[4]s],
        securityContext: Object.spec.%[1]s.securityContext{allowPrivilegeEscalation: false, capabilities: Object.spec.%[1]s.securityContext.capabilities{drop: ["ALL"]}}}`,
		list, name, images.Agent.Reference, args)
}

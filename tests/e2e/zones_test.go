package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/tests/harness"
)

const zonedDocument = `apiVersion: loom.beyond10x.dev/v1alpha1
kind: LoomAgent
metadata: {name: zoned}
spec:
  agent: {schema: loom.agent/1, model: fast, instructions: Wake up.}
  schedule: {cron: "0 8 * * *", timeZone: %s}
`

// Case A14: the image of the operator has no zone files, and knows every zone.
func TestImageOfTheOperatorKnowsTimeZones(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	for name, c := range map[string]struct {
		zone     string
		exitCode int32
		says     string
	}{
		"known":   {zone: "Europe/Berlin", exitCode: 0, says: "accepted"},
		"unknown": {zone: "America/NewYork", exitCode: 1, says: "schedule.timeZone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := checkingPod(t, namespace, name, fmt.Sprintf(zonedDocument, c.zone))
			harness.Eventually(t, patience, "the check has ended", func(ctx context.Context) error {
				if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
					return err
				}
				if phase := pod.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
					return fmt.Errorf("%s: %v", phase, pod.Status.ContainerStatuses)
				}
				return nil
			})
			assert.Equal(t, c.exitCode, pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
			assert.Contains(t, kubectl(t, namespace, "logs", name), c.says)
		})
	}
}

// checkingPod runs `loom-operator check` in the operator's image.
func checkingPod(t *testing.T, namespace, name, text string) *corev1.Pod {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	require.NoError(t, cluster.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"agent.yaml": text}}))
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "check", Image: images.Operator.Reference, ImagePullPolicy: corev1.PullIfNotPresent,
			Args:         []string{"check", "--agent-image", images.Agent.Reference, "-f", "/in/agent.yaml"},
			VolumeMounts: []corev1.VolumeMount{{Name: "in", MountPath: "/in"}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
		Volumes: []corev1.Volume{{Name: "in", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		}}},
	}}
	require.NoError(t, cluster.Client.Create(t.Context(), pod))
	return pod
}

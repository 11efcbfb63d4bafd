package e2e

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// faultsBeforeTheStart are those of agents none of whose containers is started.
func faultsBeforeTheStart() []fault {
	type spec = v1alpha1.LoomAgentSpec
	return []fault{
		{
			chapter: ofDocument, what: "The document is wrong", agent: "refused",
			spec: with(commandSpec("run"), func(s *spec) {
				s.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/2","model":"fast","instructions":"Help."}`)
			}),
			state: v1alpha1.StateRefused, reason: v1alpha1.ReasonRefused,
		},
		{
			chapter: ofDocument, what: "A Secret does not exist", agent: "no-secret",
			spec:  with(servingSpec(), func(s *spec) { s.SecretRef = &v1alpha1.SecretRef{Name: "keys"} }),
			state: v1alpha1.StatePending, reason: v1alpha1.ReasonReferenceMissing,
		},
		{
			chapter: ofDocument, what: "A ConfigMap does not exist", agent: "no-configmap",
			spec: with(scheduleSpec(newYear), func(s *spec) {
				s.Schedule.Input = &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "absent", Key: "text"}}
			}),
			state: v1alpha1.StatePending, reason: v1alpha1.ReasonReferenceMissing,
		},
		{
			chapter: ofDocument, what: "A09 A ConfigMap has no such key", agent: "no-key",
			spec: with(scheduleSpec(newYear), func(s *spec) {
				s.Schedule.Input = &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "prompts", Key: "absent"}}
			}),
			before: func(t *testing.T, namespace string) {
				others(t, namespace, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prompts"}, Data: map[string]string{"present": "text"}})
			},
			state: v1alpha1.StatePending, reason: v1alpha1.ReasonReferenceMissing,
		},
		{
			chapter: ofDocument, what: "A27 A claim does not exist", agent: "no-claim",
			spec:  with(commandSpec("run"), func(s *spec) { s.Workspace = &v1alpha1.Workspace{MountPath: "/work", ClaimName: new("nope")} }),
			state: v1alpha1.StatePending, reason: v1alpha1.ReasonReferenceMissing,
		},
		{
			chapter: ofAdmission, what: "A25 A quota is used up", agent: "over-quota", in: inQuota, spec: commandSpec("run"),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonQuotaExceeded,
		},
		{
			chapter: ofAdmission, what: "A62 A LimitRange asks for more memory", agent: "below-limits", in: inLimits,
			spec:  with(servingSpec(), func(s *spec) { s.Pod = requests(corev1.ResourceMemory, "64Mi") }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonLimitRangeViolation,
		},
		{
			chapter: ofAdmission, what: "A26 The level of Pod Security forbids what the document lowers", agent: "unconfined",
			spec:  with(servingSpec(), func(s *spec) { s.SeccompProfile = &v1alpha1.ConfinementProfile{Type: v1alpha1.ProfileUnconfined} }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonPodSecurityViolation,
		},
		{
			chapter: ofAdmission, what: "An admission policy denies the pod", agent: "denied", spec: withAdmission(commandSpec("run"), "team-label"),
			before: func(t *testing.T, namespace string) { admission(t, namespace, "team-label", denies) },
			state:  v1alpha1.StateRunning, reason: v1alpha1.ReasonPodForbidden,
		},
		{
			chapter: ofAdmission, what: "An admission webhook does not answer", agent: "unanswered", spec: withAdmission(servingSpec(), "silent"),
			before: func(t *testing.T, namespace string) { admission(t, namespace, "silent", unreachable) },
			state:  v1alpha1.StateDegraded, reason: v1alpha1.ReasonPodForbidden,
		},
		{
			chapter: ofAdmission, what: "A service account does not exist", agent: "no-account",
			spec:  with(commandSpec("run"), func(s *spec) { s.Pod = &v1alpha1.PodSettings{ServiceAccountName: "bot"} }),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonPodForbidden,
		},
		{
			chapter: ofAdmission, what: "A priority class does not exist", agent: "no-class",
			spec:  with(servingSpec(), func(s *spec) { s.Pod = &v1alpha1.PodSettings{PriorityClassName: "urgent"} }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonPodForbidden,
		},
		{
			chapter: ofPlacing, what: "No node has the labels", agent: "no-node",
			spec:  with(servingSpec(), func(s *spec) { s.Pod = &v1alpha1.PodSettings{NodeSelector: map[string]string{"disk": "nvme"}} }),
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonUnschedulable,
		},
		{
			chapter: ofPlacing, what: "No node is large enough", agent: "too-large",
			spec:  with(commandSpec("run"), func(s *spec) { s.Pod = requests(corev1.ResourceCPU, "1000") }),
			state: v1alpha1.StateRunning, reason: v1alpha1.ReasonUnschedulable,
		},
		{
			chapter: ofPlacing, what: "A27 A claim is not bound", agent: "unbound",
			spec: with(servingSpec(), func(s *spec) { s.Workspace = &v1alpha1.Workspace{MountPath: "/work", ClaimName: new("unbound")} }),
			before: func(t *testing.T, namespace string) {
				others(t, namespace, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "unbound"}, Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
				}})
			},
			state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonVolumeUnavailable,
		},
		{
			chapter: ofPlacing, what: "A63 The node has no such AppArmor profile", agent: "no-profile",
			spec: with(commandSpec("run"), func(s *spec) {
				s.AppArmorProfile = &v1alpha1.ConfinementProfile{Type: v1alpha1.ProfileLocalhost, LocalhostProfile: new("not-loaded")}
			}),
			state: v1alpha1.StateFailed, reason: v1alpha1.ReasonAppArmor,
			// A node whose kernel has AppArmor tries again for ever.
			orState: v1alpha1.StateRunning,
		},
		{
			chapter: ofOthers, what: "A35 The name belongs to an object of somebody else", agent: "taken", spec: servingSpec(),
			before: func(t *testing.T, namespace string) {
				labels := map[string]string{"app": "foreign"}
				others(t, namespace, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "taken"}, Spec: appsv1.DeploymentSpec{
					Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.test/foreign:1"}}}},
				}})
			},
			state: v1alpha1.StatePending, reason: v1alpha1.ReasonNameTaken,
		},
	}
}

package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// podSecurity meets the Pod Security level restricted. It names no user ID, so
// that the image's own, or the arbitrary one that OpenShift picks, is used.
func podSecurity(agent *v1alpha1.LoomAgent) *corev1.PodSecurityContext {
	context := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if p := agent.Spec.SeccompProfile; p != nil {
		context.SeccompProfile = &corev1.SeccompProfile{
			Type: corev1.SeccompProfileType(p.Type), LocalhostProfile: p.LocalhostProfile,
		}
	}
	if p := agent.Spec.AppArmorProfile; p != nil {
		context.AppArmorProfile = &corev1.AppArmorProfile{
			Type: corev1.AppArmorProfileType(p.Type), LocalhostProfile: p.LocalhostProfile,
		}
	}
	return context
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   new(true),
	}
}

// Lowered tells, in one sentence each, what the document takes from the Pod
// Security level restricted. All of it is below the level baseline, too, so a
// namespace that enforces either level refuses the pod.
func Lowered(agent *v1alpha1.LoomAgent) []string {
	var sentences []string
	if p := agent.Spec.SeccompProfile; p != nil && p.Type == v1alpha1.ProfileUnconfined {
		sentences = append(sentences, "spec.seccompProfile.type is Unconfined: the agent may make every system call, "+
			"and namespaces that enforce the Pod Security level restricted or baseline refuse its pods. "+
			"Use RuntimeDefault or Localhost.")
	}
	if p := agent.Spec.AppArmorProfile; p != nil && p.Type == v1alpha1.ProfileUnconfined {
		sentences = append(sentences, "spec.appArmorProfile.type is Unconfined: AppArmor does not confine the agent, "+
			"and namespaces that enforce the Pod Security level restricted or baseline refuse its pods. "+
			"Use RuntimeDefault or Localhost, or remove the field.")
	}
	if Component(agent) != ComponentServe || serve(agent).Probes == nil {
		return sentences
	}
	probes := serve(agent).Probes
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
	}{{"startup", probes.Startup}, {"readiness", probes.Readiness}, {"liveness", probes.Liveness}} {
		if p.probe != nil && namesHost(p.probe.ProbeHandler) {
			sentences = append(sentences, fmt.Sprintf("spec.serve.probes.%s names a host: the kubelet asks it instead of "+
				"the agent, and namespaces that enforce the Pod Security level restricted or baseline refuse its pods. "+
				"Remove the host.", p.name))
		}
	}
	return sentences
}

func namesHost(handler corev1.ProbeHandler) bool {
	return handler.HTTPGet != nil && handler.HTTPGet.Host != "" ||
		handler.TCPSocket != nil && handler.TCPSocket.Host != ""
}

package workload

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// dnsPorts are where DNS is asked. A network policy sees the port of the pod
// behind a Service, and on OpenShift the pods of the cluster DNS listen on 5353.
var dnsPorts = []int32{53, 5353}

// NetworkPolicy returns the policy of an agent with a boundary: nothing in and
// nothing out, but DNS, the ports of the upstreams and, to a serving agent, its
// own port. It returns nil for an agent without a boundary and for one that
// opts out by NetworkPolicyAnnotation.
//
// It selects the pods of the agent however they run, so that those of a former
// variant stay confined while they end.
func NetworkPolicy(in Input) *networkingv1.NetworkPolicy {
	agent := in.Agent
	if agent.Spec.Boundary == nil || agent.Annotations[NetworkPolicyAnnotation] == NetworkPolicyDisabled {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: meta(agent, NetworkPolicyName(agent), Component(agent)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{
				MatchLabels: map[string]string{v1alpha1.AgentLabel: labelValue(agent)},
			},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: policyPorts(dnsPorts, corev1.ProtocolUDP, corev1.ProtocolTCP)},
			},
		},
	}
	// A rule without ports would allow every port.
	if ports := upstreamPorts(agent.Spec.Boundary); len(ports) > 0 {
		policy.Spec.Egress = append(policy.Spec.Egress,
			networkingv1.NetworkPolicyEgressRule{Ports: policyPorts(ports, corev1.ProtocolTCP)})
	}
	if Component(agent) == ComponentServe {
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{
			{Ports: policyPorts([]int32{servePort(agent)}, corev1.ProtocolTCP)},
		}
	}
	policy.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	return policy
}

func policyPorts(ports []int32, protocols ...corev1.Protocol) []networkingv1.NetworkPolicyPort {
	var all []networkingv1.NetworkPolicyPort
	for _, port := range ports {
		for _, protocol := range protocols {
			all = append(all, networkingv1.NetworkPolicyPort{
				Protocol: new(protocol), Port: new(intstr.FromInt32(port)),
			})
		}
	}
	return all
}

package observe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Pod says why a pod does not run, or why it ended badly. It is zero for a pod
// that runs, is starting, or has ended well. The agent's container is found by
// its name: a webhook may have put others before it (case A22).
func Pod(pod *corev1.Pod) Cause {
	if pod == nil {
		return Cause{}
	}
	judges := []func(*corev1.Pod) Cause{takenAway, refusedByNode, notScheduled, initContainers, agentContainer, otherContainers}
	for _, judge := range judges {
		if cause := judge(pod); cause != (Cause{}) {
			return cause
		}
	}
	return Cause{}
}

// Reasons of pods that the kubelet uses.
const (
	evicted  = "Evicted"
	appArmor = "AppArmor"
)

// finished tells that no container of the pod runs or will run again.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// disrupted lists the pod reasons of a node that gives a pod up, from kubelets
// that set no DisruptionTarget beside it.
var disrupted = []string{"NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated"}

// disruption is the reason of the one who took the pod away (case A24); empty
// when nobody did.
func disruption(pod *corev1.Pod) string {
	if pod.Status.Reason == evicted {
		return evicted
	}
	if c := podCondition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		if c.Reason == "" {
			return string(corev1.DisruptionTarget)
		}
		return c.Reason
	}
	if slices.Contains(disrupted, pod.Status.Reason) {
		return pod.Status.Reason
	}
	return ""
}

var (
	scarce = regexp.MustCompile(`low on resource: ([a-z-]+)`)
	// beyondLimit are the texts of the kubelet about what the pod's files and
	// logs may take (kubernetes/kubernetes, pkg/kubelet/eviction).
	beyondLimit = regexp.MustCompile(`exceeds the total limit of containers|exceeded its local ephemeral storage limit|exceeds the limit`)
)

func takenAway(pod *corev1.Pod) Cause {
	leaving := pod.DeletionTimestamp != nil && !finished(pod)
	by := disruption(pod)
	switch {
	case by == evicted && beyondLimit.MatchString(pod.Status.Message):
		return Cause{v1alpha1.ReasonEvicted, fmt.Sprintf("Pod %s was evicted%s: its files and logs took more space than its limit. Raise pod.resources.limits.ephemeral-storage, or let the program write less.", pod.Name, fromNode(pod))}
	case by == evicted:
		resource := "a resource that ran short"
		if match := scarce.FindStringSubmatch(pod.Status.Message); match != nil {
			resource = match[1]
		}
		return Cause{v1alpha1.ReasonEvicted, fmt.Sprintf("Pod %s was evicted%s for want of %s. Raise pod.resources.requests, so that the node keeps enough for it.", pod.Name, fromNode(pod), resource)}
	case by != "" && (leaving || pod.Status.Phase == corev1.PodFailed):
		return Cause{v1alpha1.ReasonDisrupted, fmt.Sprintf("Pod %s was taken away%s (%s). The program is not at fault.", pod.Name, fromNode(pod), by)}
	case leaving:
		return Cause{v1alpha1.ReasonDisrupted, fmt.Sprintf("Pod %s is being deleted%s. If that does not end, look at the node: it may be lost.", pod.Name, fromNode(pod))}
	default:
		return Cause{}
	}
}

func fromNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return ""
	}
	return " from node " + pod.Spec.NodeName
}

// refusedByNode tells of a kubelet that did not admit the pod. Kubelets differ
// in the phase that they leave such a pod in (case A63).
func refusedByNode(pod *corev1.Pod) Cause {
	if pod.Status.Reason == appArmor && pod.Status.Phase != corev1.PodRunning {
		return appArmorCause(pod)
	}
	started := slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return s.State.Terminated != nil })
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason == "" || started {
		return Cause{}
	}
	return Cause{v1alpha1.ReasonUnschedulable, fmt.Sprintf("The node refused pod %s (%s)%s. Check pod.resources and where pod.nodeSelector, pod.affinity and pod.tolerations let it go.", pod.Name, pod.Status.Reason, fromNode(pod))}
}

// appArmorCause says the same whether the kubelet or the container runtime
// missed the profile.
func appArmorCause(pod *corev1.Pod) Cause {
	return Cause{v1alpha1.ReasonAppArmor, fmt.Sprintf("Pod %s cannot start: the node cannot enforce AppArmor%s. Load the profile on the nodes, or correct spec.appArmorProfile.", pod.Name, profileOf(pod))}
}

// profileOf names the profile that the document asks for.
func profileOf(pod *corev1.Pod) string {
	if c := pod.Spec.SecurityContext; c != nil && c.AppArmorProfile != nil && c.AppArmorProfile.LocalhostProfile != nil {
		return fmt.Sprintf(" profile %q", *c.AppArmorProfile.LocalhostProfile)
	}
	return ""
}

func notScheduled(pod *corev1.Pod) Cause {
	scheduled := podCondition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionFalse {
		return Cause{}
	}
	if scheduled.Reason == corev1.PodReasonSchedulingGated {
		gates := make([]string, 0, len(pod.Spec.SchedulingGates))
		for _, gate := range pod.Spec.SchedulingGates {
			gates = append(gates, gate.Name)
		}
		slices.Sort(gates)
		return Cause{v1alpha1.ReasonUnschedulable, fmt.Sprintf("Pod %s is held back by scheduling gates %s. It starts when their owner, such as a queue, removes them.", pod.Name, strings.Join(gates, ", "))}
	}
	reasons := schedulerReasons(scheduled.Message)
	text := cut(strings.Join(reasons, ", "))
	if len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r string) bool { return !aboutVolume.MatchString(r) }) {
		return Cause{v1alpha1.ReasonVolumeUnavailable, fmt.Sprintf("Pod %s waits for %s: %s. Create or bind the claim, or correct spec.workspace.", pod.Name, claimsOf(pod), text)}
	}
	if text == "" {
		text = "the scheduler gave no reason"
	}
	return Cause{v1alpha1.ReasonUnschedulable, fmt.Sprintf("No node fits pod %s: %s. Check pod.resources, pod.nodeSelector, pod.affinity and pod.tolerations, or add nodes.", pod.Name, text)}
}

var (
	nodeCount = regexp.MustCompile(`^\d+/\d+ nodes are available:? *`)
	// preemption begins what the scheduler adds after its reasons.
	preemption  = regexp.MustCompile(`(?s)\.(?: [a-z ]+,)? *preemption: .*$|\. not found$`)
	reasonCount = regexp.MustCompile(`(?:^|, )\d+ `)
	aboutVolume = regexp.MustCompile(`(?i)persistent ?volume|\bpvc\(s\)|available volume zone|volume node affinity|no available disk`)
)

// schedulerReasons splits the scheduler's text into its reasons, sorted and
// without the numbers of nodes: those change while the reason stays.
func schedulerReasons(text string) []string {
	text = nodeCount.ReplaceAllString(preemption.ReplaceAllString(strings.TrimSpace(text), ""), "")
	var reasons []string
	for _, reason := range reasonCount.Split(text, -1) {
		if reason = strings.TrimRight(strings.TrimSpace(reason), "."); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// claimsOf names the claims of a pod, because the scheduler does not always.
func claimsOf(pod *corev1.Pod) string {
	var claims []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, fmt.Sprintf("claim %q", volume.PersistentVolumeClaim.ClaimName))
		}
	}
	if len(claims) == 0 {
		return "its volumes"
	}
	slices.Sort(claims)
	return strings.Join(claims, ", ")
}

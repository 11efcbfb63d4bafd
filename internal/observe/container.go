package observe

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Reasons of containers that the kubelet and the runtimes use.
const (
	completed     = "Completed"
	oomKilled     = "OOMKilled"
	statusUnknown = "ContainerStatusUnknown"
	startError    = "StartError"
	cannotRun     = "ContainerCannotRun"
	crashLoop     = "CrashLoopBackOff"
)

// invented tells that an exit code comes from the node, which could not learn
// one (cases A45 and A61) or could not start the program, and not from the
// program.
func invented(end *corev1.ContainerStateTerminated) bool {
	return slices.Contains([]string{statusUnknown, startError, cannotRun}, end.Reason)
}

// initContainers looks at them before the others, which show no more than
// PodInitializing until these have ended.
func initContainers(pod *corev1.Pod) Cause {
	for _, spec := range pod.Spec.InitContainers {
		status := statusOf(pod.Status.InitContainerStatuses, spec.Name)
		if status == nil || isSidecar(&spec) {
			continue
		}
		if cause := waiting(pod, status); cause != (Cause{}) {
			return cause
		}
		if end := lastEnd(status); end != nil && end.ExitCode != 0 {
			return Cause{v1alpha1.ReasonInitContainerFailed, fmt.Sprintf("Init container %s of pod %s failed with exit code %d, and so the program never started. Read its log, and ask who added it.", spec.Name, pod.Name, end.ExitCode)}
		}
	}
	return Cause{}
}

func agentContainer(pod *corev1.Pod) Cause {
	status := agentStatus(pod)
	if status == nil || status.Ready {
		return Cause{}
	}
	if cause := waiting(pod, status); cause != (Cause{}) {
		return cause
	}
	if restarts(pod) {
		return restarted(pod, status)
	}
	if status.State.Terminated == nil {
		return Cause{}
	}
	if running := othersRunning(pod); len(running) > 0 && !finished(pod) {
		return Cause{v1alpha1.ReasonSidecarStillRunning, fmt.Sprintf("The program of pod %s has ended with exit code %d, and container %s keeps the pod running. Let it end with the program, or make it a native sidecar: an init container with restartPolicy Always.", pod.Name, status.State.Terminated.ExitCode, strings.Join(running, ", "))}
	}
	return ended(pod, status, status.State.Terminated)
}

// otherContainers tells of a container beside the agent's that holds the pod up.
func otherContainers(pod *corev1.Pod) Cause {
	for _, status := range byName(slices.Concat(pod.Status.ContainerStatuses, sidecarStatuses(pod))) {
		if status.Name == v1alpha1.AgentContainer || status.Ready {
			continue
		}
		if cause := waiting(pod, &status); cause != (Cause{}) {
			return cause
		}
		end := status.State.Terminated
		switch {
		case restarts(pod):
			if cause := restarted(pod, &status); cause != (Cause{}) {
				return cause
			}
		case pod.Status.Phase == corev1.PodFailed && end != nil && end.ExitCode != 0:
			return ended(pod, &status, end)
		}
	}
	return Cause{}
}

// stoppedCodes are those of a program that was asked to stop, which is what the
// kubelet does when a probe fails: it ends well, or by SIGTERM, or by SIGKILL.
var stoppedCodes = []int32{0, 128 + 15, 128 + 9}

// restarted tells of a container that has ended and is started again. It holds
// also while the container runs, so that a loop does not look settled between
// two restarts (case A58), and it counts nothing, so that it says the same
// after each.
func restarted(pod *corev1.Pod, status *corev1.ContainerStatus) Cause {
	end := lastEnd(status)
	looping := status.State.Waiting != nil && status.State.Waiting.Reason == crashLoop
	switch {
	case end == nil && !looping:
		return Cause{}
	case end == nil:
		return Cause{v1alpha1.ReasonCrashLooping, fmt.Sprintf("Container %s of pod %s ends again and again. Read its log.", status.Name, pod.Name)}
	case end.Reason == oomKilled || invented(end):
		return ended(pod, status, end)
	default:
		cause := Cause{v1alpha1.ReasonCrashLooping, fmt.Sprintf("Container %s of pod %s ends again and again, last with exit code %d. Read its log: \"kubectl -n %s logs %s -c %s --previous\".", status.Name, pod.Name, end.ExitCode, pod.Namespace, pod.Name, status.Name)}
		if slices.Contains(stoppedCodes, end.ExitCode) {
			return cause.and(fmt.Sprintf("If it was stopped, its liveness or startup probe fails: see \"kubectl -n %s describe pod %s\", and correct serve.probes.", pod.Namespace, pod.Name))
		}
		return cause
	}
}

// ended tells how a container ended; zero when it ended well.
func ended(pod *corev1.Pod, status *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) Cause {
	who := fmt.Sprintf("Container %s of pod %s", status.Name, pod.Name)
	switch {
	case end.Reason == oomKilled:
		return Cause{v1alpha1.ReasonOOMKilled, fmt.Sprintf("%s used more memory than its limit (exit code %d). Raise pod.resources.limits.memory.", who, end.ExitCode)}
	case end.Reason == statusUnknown:
		return Cause{v1alpha1.ReasonExitUnknown, fmt.Sprintf("%s is gone and its node could not say how it ended (%s). Look for what the program did.", who, statusUnknown)}
	case end.Reason == startError || end.Reason == cannotRun:
		return cannotStart(pod, status, end.Message)
	case end.ExitCode != 0:
		return Cause{v1alpha1.ReasonRunFailed, fmt.Sprintf("%s ended with exit code %d. Read its log: \"kubectl -n %s logs %s -c %s\".", who, end.ExitCode, pod.Namespace, pod.Name, status.Name)}
	default:
		return Cause{}
	}
}

// lastEnd is the latest end of a container that is known; nil when it has
// never ended.
func lastEnd(status *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}

// restarts tells that the pod's containers are started again when they end.
// The API server's default is Always.
func restarts(pod *corev1.Pod) bool { return pod.Spec.RestartPolicy != corev1.RestartPolicyNever }

// othersRunning names the containers beside the agent's that run. Native
// sidecars do not count: the kubelet ends them after the last container.
func othersRunning(pod *corev1.Pod) []string {
	var names []string
	for _, status := range byName(pod.Status.ContainerStatuses) {
		if status.Name != v1alpha1.AgentContainer && status.State.Running != nil {
			names = append(names, status.Name)
		}
	}
	return names
}

func sidecarStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var sidecars []corev1.ContainerStatus
	for _, spec := range pod.Spec.InitContainers {
		if status := statusOf(pod.Status.InitContainerStatuses, spec.Name); status != nil && isSidecar(&spec) {
			sidecars = append(sidecars, *status)
		}
	}
	return sidecars
}

func isSidecar(spec *corev1.Container) bool {
	return spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func agentStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	return statusOf(pod.Status.ContainerStatuses, v1alpha1.AgentContainer)
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &statuses[i]
}

func byName(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	return slices.SortedStableFunc(slices.Values(statuses), func(a, b corev1.ContainerStatus) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func containerSpec(pod *corev1.Pod, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
			return &containers[i]
		}
	}
	return nil
}

package observe

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// finish tells how a Job ended. The verdict is the Job's. The facts come from
// the agent's container, then from its pod, then from the Job's condition; a
// fact that none of them has stays absent.
func finish(job *batchv1.Job, verdict *batchv1.JobCondition, pods []*corev1.Pod) (lifecycle.RunPhase, lifecycle.RunEnd, Cause) {
	if verdict.Type == batchv1.JobComplete {
		pod := firstInPhase(pods, corev1.PodSucceeded)
		end := endOf(verdict, pod)
		end.Reason = firstReason(containerReason(pod), verdict.Reason)
		return lifecycle.RunSucceeded, end, completedCause(job, end)
	}
	pod := lastFailed(pods)
	end := endOf(verdict, pod)
	end.Reason = failedReason(verdict, pod)
	return lifecycle.RunFailed, end, failedCause(job, verdict, pod, end)
}

func firstInPhase(pods []*corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	for _, pod := range pods {
		if pod.Status.Phase == phase {
			return pod
		}
	}
	return nil
}

// lastFailed is the pod that made its Job fail: the newest one that failed. A
// Job that was stopped may have none that did; then it is the newest one.
func lastFailed(pods []*corev1.Pod) *corev1.Pod {
	var last *corev1.Pod
	for _, pod := range pods {
		if last == nil || pod.Status.Phase == corev1.PodFailed || last.Status.Phase != corev1.PodFailed {
			last = pod
		}
	}
	return last
}

// endOf collects the exit code and the time. The time of the Job's condition
// stands in where the container has none: a failed Job has no completionTime
// (case A41).
func endOf(verdict *batchv1.JobCondition, pod *corev1.Pod) lifecycle.RunEnd {
	end := lifecycle.RunEnd{FinishedAt: knownTime(verdict.LastTransitionTime)}
	terminated := agentEnd(pod)
	if terminated == nil {
		end.ExitCode = policyExitCode(verdict)
		return end
	}
	if at := knownTime(terminated.FinishedAt); at != nil {
		end.FinishedAt = at
	}
	if !invented(terminated) && initContainers(pod) == (Cause{}) {
		end.ExitCode = new(terminated.ExitCode)
	}
	return end
}

// A Job that ended by its pod failure policy (internal/workload) tells why its
// pod failed, also when the pod is gone. These are the texts of the Job
// controller (kubernetes/kubernetes, pkg/controller/job/pod_failure_policy.go).
var (
	policyCode       = regexp.MustCompile(`^Container ` + v1alpha1.AgentContainer + ` for pod \S+ failed with exit code (\d{1,3}) `)
	policyDisruption = regexp.MustCompile(`^Pod \S+ has condition ` + string(corev1.DisruptionTarget) + ` `)
)

// policyExitCode is the exit code that the Job tells; nil when it tells none.
func policyExitCode(verdict *batchv1.JobCondition) *int32 {
	match := policyCode.FindStringSubmatch(verdict.Message)
	if verdict.Reason != batchv1.JobReasonPodFailurePolicy || match == nil {
		return nil
	}
	code, err := strconv.ParseInt(match[1], 10, 32)
	if err != nil {
		return nil
	}
	return new(int32(code))
}

// policyDisrupted tells whether the Job says that its pod was taken away.
func policyDisrupted(verdict *batchv1.JobCondition) bool {
	return verdict.Reason == batchv1.JobReasonPodFailurePolicy && policyDisruption.MatchString(verdict.Message)
}

// knownTime drops the times that stand for "unknown": nodes write the year 1
// or the year 1970 (case A61).
func knownTime(t metav1.Time) *time.Time {
	if t.Unix() <= 0 {
		return nil
	}
	return new(t.UTC())
}

// agentEnd is how the agent's container ended; nil when that is not known.
func agentEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if pod == nil {
		return nil
	}
	if status := agentStatus(pod); status != nil {
		return status.State.Terminated
	}
	return nil
}

func containerReason(pod *corev1.Pod) string {
	if terminated := agentEnd(pod); terminated != nil {
		return terminated.Reason
	}
	return ""
}

// failedReason is the most telling reason of a failure. What stopped the
// program from outside comes before how the program ended from it (cases A24
// and A41); the container's reason comes before the Job's own, which is
// BackoffLimitExceeded for most failures (case A07).
func failedReason(verdict *batchv1.JobCondition, pod *corev1.Pod) *string {
	if pod == nil && policyDisrupted(verdict) {
		return firstReason(string(corev1.DisruptionTarget))
	}
	if verdict.Reason == batchv1.JobReasonDeadlineExceeded || pod == nil {
		return firstReason(verdict.Reason)
	}
	container := containerReason(pod)
	if container == completed {
		container = ""
	}
	return firstReason(disruption(pod), initReason(pod), container, pod.Status.Reason, verdict.Reason)
}

// initReason names the init container that failed and its exit code (case A45).
func initReason(pod *corev1.Pod) string {
	for _, spec := range pod.Spec.InitContainers {
		status := statusOf(pod.Status.InitContainerStatuses, spec.Name)
		if status == nil || isSidecar(&spec) {
			continue
		}
		if end := lastEnd(status); end != nil && end.ExitCode != 0 {
			return fmt.Sprintf("%s: %s ended with exit code %d", v1alpha1.ReasonInitContainerFailed, spec.Name, end.ExitCode)
		}
	}
	return ""
}

func firstReason(reasons ...string) *string {
	for _, reason := range reasons {
		if reason != "" {
			return &reason
		}
	}
	return nil
}

func completedCause(job *batchv1.Job, end lifecycle.RunEnd) Cause {
	switch {
	case end.ExitCode == nil:
		return Cause{v1alpha1.ReasonCompleted, fmt.Sprintf("Job %s completed. No pod tells the exit code any more, so it cannot be known.", job.Name)}
	case end.Reason != nil && *end.Reason == oomKilled:
		return Cause{v1alpha1.ReasonCompleted, fmt.Sprintf("Job %s completed with exit code %d, but a process of it used more memory than the limit (%s). Check the result, and raise pod.resources.limits.memory.", job.Name, *end.ExitCode, oomKilled)}
	default:
		return Cause{v1alpha1.ReasonCompleted, fmt.Sprintf("Job %s completed with exit code %d.", job.Name, *end.ExitCode)}
	}
}

// anew tells when a run that was taken away is made up for. A schedule has its
// next run; a command is not run again by itself.
func anew(job *batchv1.Job) string {
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "CronJob" {
		return "The schedule goes on with its next run."
	}
	return "It is not run again by itself: change the document to run it anew."
}

func failedCause(job *batchv1.Job, verdict *batchv1.JobCondition, pod *corev1.Pod, end lifecycle.RunEnd) Cause {
	if verdict.Reason == batchv1.JobReasonDeadlineExceeded {
		return deadlineExceeded(job)
	}
	if pod != nil && finished(pod) {
		switch cause := Pod(pod); cause.Reason {
		case "":
		case v1alpha1.ReasonDisrupted, v1alpha1.ReasonEvicted:
			return cause.and(anew(job))
		default:
			return cause
		}
	}
	if pod == nil && policyDisrupted(verdict) {
		return Cause{v1alpha1.ReasonDisrupted, fmt.Sprintf("The pod of Job %s was taken away (%s). The program is not at fault; how it ended cannot be known any more. %s", job.Name, corev1.DisruptionTarget, anew(job))}
	}
	why := "no reason given"
	if end.Reason != nil {
		why = cut(*end.Reason)
	}
	if end.ExitCode == nil {
		return Cause{v1alpha1.ReasonExitUnknown, fmt.Sprintf("Job %s failed (%s). No pod tells the exit code any more, so it cannot be known. Look for what the program did.", job.Name, why)}
	}
	return Cause{v1alpha1.ReasonRunFailed, fmt.Sprintf("Job %s failed (%s); its program ended with exit code %d. Read the logs of its pod.", job.Name, why, *end.ExitCode)}
}

// Recorded tells how a run ended from its record alone.
func Recorded(run *v1alpha1.RunEnd, completed bool) Cause {
	cause, code, why := Cause{Reason: v1alpha1.ReasonRunFailed}, "an exit code that is not known", ""
	if completed {
		cause.Reason = v1alpha1.ReasonCompleted
	}
	if run != nil && run.ExitCode != nil {
		code = fmt.Sprintf("exit code %d", *run.ExitCode)
	}
	if run != nil && run.Reason != nil {
		why = fmt.Sprintf(" (%s)", cut(*run.Reason))
		if *run.Reason == v1alpha1.ReasonRunLost {
			cause.Reason = v1alpha1.ReasonRunLost
		}
	}
	cause.Message = fmt.Sprintf("The program ended with %s%s.", code, why)
	return cause
}

package observe

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	image   = "registry.test/agent:nope"
	jobUID  = types.UID("job-uid")
	cronUID = types.UID("cron-uid")
)

// second is the instant n seconds into the tests.
func second(n int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 5, 1, 12, 0, n, 0, time.UTC))
}

func controlledBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
}

// runPod is a pod of a Job with the agent's container in this state.
func runPod(phase corev1.PodPhase, state corev1.ContainerState, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "c-1-abcde", CreationTimestamp: second(1), OwnerReferences: controlledBy(jobUID)},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: v1alpha1.AgentContainer, Image: image, Command: []string{"/bin/agent"}}},
		},
		Status: corev1.PodStatus{
			Phase: phase,
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: v1alpha1.AgentContainer, State: state, Ready: state.Running != nil},
			},
		},
	}
	return changed(pod, changes)
}

// servePod is a pod of a Deployment.
func servePod(state corev1.ContainerState, changes ...func(*corev1.Pod)) corev1.Pod {
	phase := corev1.PodRunning
	if state.Waiting != nil {
		phase = corev1.PodPending
	}
	pod := runPod(phase, state, named("s-1-abcde"))
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	return changed(pod, changes)
}

func changed(pod corev1.Pod, changes []func(*corev1.Pod)) corev1.Pod {
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func waitingFor(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func exited(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: second(30)}}
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func named(name string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Name = name } }

func created(n int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = second(n) }
}

func because(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Reason, pod.Status.Message = reason, message }
}

func withCondition(of corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: status, Reason: reason, Message: message, LastTransitionTime: second(2)})
	}
}

// withSidecar puts another container before the agent's.
func withSidecar(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers = append([]corev1.Container{{Name: name, Image: "registry.test/proxy:1"}}, pod.Spec.Containers...)
		pod.Status.ContainerStatuses = append([]corev1.ContainerStatus{{Name: name, State: state, Ready: state.Running != nil}}, pod.Status.ContainerStatuses...)
	}
}

func withInit(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, Image: "registry.test/init:1"})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}

func lastExit(code int32, reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		status := agentStatus(pod)
		status.LastTerminationState = exited(code, reason)
		status.RestartCount++
	}
}

func withClaim(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = new(second(40)) }

// job is a run with a backoff limit of 0 and these conditions.
func job(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "c-1", UID: jobUID},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Suspend: new(false)},
		Status:     batchv1.JobStatus{Conditions: conditions},
	}
}

func jobIs(of batchv1.JobConditionType, reason string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: second(50)}
}

// byPolicy is a Job that failed by its pod failure policy, which says this.
func byPolicy(message string) batchv1.JobCondition {
	condition := jobIs(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	condition.Message = message
	return condition
}

// What the Job controller writes for the two rules of the policy.
const (
	policyTellsCode       = "Container agent for pod t/c-1-abcde failed with exit code 7 matching FailJob rule at index 1"
	policyTellsDisruption = "Pod t/c-1-abcde has condition DisruptionTarget matching FailJob rule at index 0"
)

var (
	complete  = jobIs(batchv1.JobComplete, "CompletionsReached")
	failedJob = jobIs(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
)

func failedCreateEvent(at int, message string) corev1.Event {
	return corev1.Event{Reason: failedCreate, Message: message, LastTimestamp: second(at)}
}

// deployment wants this many pods and has these numbers.
func deployment(desired int32, status appsv1.DeploymentStatus) *appsv1.Deployment {
	status.ObservedGeneration = 1
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: &desired},
		Status:     status,
	}
}

func counts(replicas, updated, available int32) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available}
}

func deploymentIs(of appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{Type: of, Status: status, Reason: reason, Message: message}
}

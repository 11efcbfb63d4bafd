package controllers_test

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// pods lists the pods of an agent that are not being deleted.
func (w world) pods(ctx context.Context, agent string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.AgentLabel: agent}); err != nil {
		return nil, err
	}
	var staying []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp.IsZero() {
			staying = append(staying, pod)
		}
	}
	return staying, nil
}

// pod waits for a pod of an agent that nothing was reported about.
func (w world) pod(agent string) *corev1.Pod {
	w.Helper()
	var found *corev1.Pod
	w.eventually(agent+" has a pod", func(ctx context.Context) error {
		pods, err := w.pods(ctx, agent)
		if err != nil {
			return err
		}
		for i := range pods {
			if len(pods[i].Status.ContainerStatuses) == 0 {
				found = &pods[i]
				return nil
			}
		}
		return errors.New("there is none")
	})
	return found
}

// report writes a pod's status as a kubelet does. Of a pod that was taken away
// meanwhile there is nothing to report.
func (w world) report(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	from := client.MergeFrom(pod.DeepCopy())
	change(&pod.Status)
	require.NoError(w, client.IgnoreNotFound(w.Status().Patch(w.Context(), pod, from)))
}

// ends lets the agent's container, and with it the pod, end so.
func (w world) ends(pod *corev1.Pod, end corev1.ContainerStateTerminated) {
	w.Helper()
	w.report(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodSucceeded
		if end.ExitCode != 0 {
			status.Phase = corev1.PodFailed
		}
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, State: corev1.ContainerState{Terminated: &end}}}
	})
}

// exit is an end with this code, a while ago and at a whole second.
func exit(code int32) corev1.ContainerStateTerminated {
	end := corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))}
	if code != 0 {
		end.Reason = "Error"
	}
	return end
}

// waits lets the agent's container wait for a reason.
func (w world) waits(pod *corev1.Pod, reason, message string) {
	w.Helper()
	w.report(pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: v1alpha1.AgentContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	})
}

// serves lets a pod run and be ready for long enough to be available.
func (w world) serves(pod *corev1.Pod) {
	w.Helper()
	since := metav1.NewTime(time.Now().Add(-time.Minute))
	w.report(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}}}
	})
}

// available brings a serving agent up: every pod of it that starts serves.
func (w world) available(agent string) *v1alpha1.LoomAgent {
	w.Helper()
	return w.await(agent, "is available", func(now *v1alpha1.LoomAgent) error {
		pods, err := w.pods(w.Context(), agent)
		if err != nil {
			return err
		}
		for i := range pods {
			if len(pods[i].Status.ContainerStatuses) == 0 {
				w.serves(&pods[i])
			}
		}
		return ready(metav1.ConditionTrue, v1alpha1.ReasonAvailable)(now)
	}, state(v1alpha1.StateRunning))
}

// completed lets a command end well.
func (w world) completed(agent string) *v1alpha1.LoomAgent {
	w.Helper()
	w.ends(w.pod(agent), exit(0))
	return w.await(agent, "has completed", state(v1alpha1.StateCompleted), ready(metav1.ConditionTrue, v1alpha1.ReasonCompleted))
}

// inForce waits until a schedule is in force.
func (w world) inForce(agent string) *v1alpha1.LoomAgent {
	w.Helper()
	return w.await(agent, "is in force", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled))
}

// settled brings an agent of any variant to where it stays.
func (w world) settled(variant, agent string) *v1alpha1.LoomAgent {
	w.Helper()
	switch variant {
	case "serve":
		return w.available(agent)
	case "command":
		return w.completed(agent)
	default:
		return w.inForce(agent)
	}
}

// tick starts a run of a schedule, as the CronJob controller does.
func (w world) tick(agent string) *batchv1.Job {
	w.Helper()
	cronJob := get[batchv1.CronJob](w, w.agent(agent).Status.Workload.Name)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: cronJob.Name + "-", Labels: cronJob.Spec.JobTemplate.Labels, Annotations: cronJob.Spec.JobTemplate.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cronJob.Spec.JobTemplate.Spec,
	}
	w.make(job)
	return job
}

package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

func TestDeployment(t *testing.T) {
	const none = lifecycle.Availability("")
	with := func(status appsv1.DeploymentStatus, conditions ...appsv1.DeploymentCondition) appsv1.DeploymentStatus {
		status.Conditions = conditions
		return status
	}
	refused := func(message string) appsv1.DeploymentCondition {
		return deploymentIs(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, failedCreate, message)
	}
	late := deploymentIs(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", `ReplicaSet "s-6c9f" has timed out progressing`)
	unseen := deployment(1, counts(1, 1, 1))
	unseen.Generation = 2
	brokenPod := func(changes ...func(*corev1.Pod)) corev1.Pod {
		return servePod(waitingFor("ImagePullBackOff", ""), changes...)
	}
	cases := map[string]struct {
		facts     DeploymentFacts
		observed  lifecycle.Availability
		available bool
		reason    string
		contains  []string
	}{
		"no Deployment": {
			DeploymentFacts{}, none, false, v1alpha1.ReasonRolloutInProgress, []string{"Agent s"}},
		"A57 change that the controller has not seen": {
			DeploymentFacts{Deployment: unseen}, none, false, v1alpha1.ReasonRolloutInProgress, nil},
		"change that the controller has not seen, of the recorded generation": {
			DeploymentFacts{Deployment: unseen, Recorded: lifecycle.Available}, none, true, v1alpha1.ReasonRolloutInProgress, nil},
		"A57 only pods of the former template are available": {
			DeploymentFacts{Deployment: deployment(1, counts(2, 1, 1))}, none, false, v1alpha1.ReasonRolloutInProgress, []string{"0 of 1 pods of the present document", "Pods of a former document serve meanwhile."}},
		"A57 change seen, no pod of it yet": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 0, 1))}, none, false, v1alpha1.ReasonRolloutInProgress, nil},
		"pod of the present template available beside the former": {
			DeploymentFacts{Deployment: deployment(1, counts(2, 1, 2))}, lifecycle.Available, true, v1alpha1.ReasonAvailable, []string{"1 of 1 pods"}},
		"all available": {
			DeploymentFacts{Deployment: deployment(2, counts(2, 2, 2))}, lifecycle.Available, true, v1alpha1.ReasonAvailable, []string{"2 of 2 pods are available"}},
		"one of three is enough, and the others' trouble is told": {
			DeploymentFacts{Deployment: deployment(3, counts(3, 3, 1)), Pods: []corev1.Pod{brokenPod()}}, lifecycle.Available, true, v1alpha1.ReasonAvailable, []string{"1 of 3 pods", "cannot be pulled"}},
		"first rollout": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{servePod(running)}}, none, false, v1alpha1.ReasonRolloutInProgress, []string{"0 of 1 pods"}},
		"A08 first rollout with a bad image": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{brokenPod()}}, lifecycle.Unavailable, false, v1alpha1.ReasonImagePullFailed, []string{image}},
		"A58 crash loop while its container is ready": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{servePod(running, lastExit(1, "Error"))}}, lifecycle.Unavailable, false, v1alpha1.ReasonCrashLooping, []string{"exit code 1"}},
		"A58 stable at last": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 1)), Pods: []corev1.Pod{servePod(running, lastExit(1, "Error"))}, Recorded: lifecycle.Unavailable}, lifecycle.Available, true, v1alpha1.ReasonAvailable, nil},
		"was available and is not": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Recorded: lifecycle.Available}, lifecycle.Unavailable, false, v1alpha1.ReasonUnavailable, []string{"0 of 1 pods"}},
		"renewed Secret while former pods serve": {
			DeploymentFacts{Deployment: deployment(1, counts(2, 1, 1)), Recorded: lifecycle.Available}, lifecycle.Available, true, v1alpha1.ReasonRolloutInProgress, []string{"1 pods of the former template"}},
		"renewed Secret that breaks the program": {
			DeploymentFacts{Deployment: deployment(1, counts(2, 1, 1)), Recorded: lifecycle.Available, Pods: []corev1.Pod{
				servePod(running, named("s-1-fffff"), withHash("old")),
				servePod(waitingFor("CrashLoopBackOff", ""), lastExit(2, "Error"), withHash("new"), created(9)),
			}}, lifecycle.Unavailable, false, v1alpha1.ReasonCrashLooping, []string{"exit code 2", "former template still serve"}},
		"new generation that cures the former's crash loop": {
			DeploymentFacts{Deployment: deployment(1, counts(2, 1, 0)), Pods: []corev1.Pod{
				servePod(waitingFor("CrashLoopBackOff", ""), lastExit(2, "Error"), withHash("old"), named("s-1-fffff")),
				servePod(waitingFor("ContainerCreating", ""), withHash("new"), created(9)),
			}}, none, false, v1alpha1.ReasonRolloutInProgress, nil},
		"former's trouble before a pod of the present template exists": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 0, 0)), Pods: []corev1.Pod{brokenPod()}}, none, false, v1alpha1.ReasonRolloutInProgress, nil},
		"pods that go on come before those that have ended": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{
				runPod(corev1.PodFailed, corev1.ContainerState{}, because("OutOfcpu", "")), brokenPod(created(9)),
			}}, lifecycle.Unavailable, false, v1alpha1.ReasonImagePullFailed, nil},
		"pods that are being replaced do not count": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{
				brokenPod(deleted), runPod(corev1.PodFailed, corev1.ContainerState{}, because("Evicted", "")), servePod(running),
			}}, none, false, v1alpha1.ReasonRolloutInProgress, nil},
		"A63 pods that no node admits": {
			DeploymentFacts{Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{
				runPod(corev1.PodFailed, corev1.ContainerState{}, because("AppArmor", "")), servePod(waitingFor("ContainerCreating", ""), created(9)),
			}}, lifecycle.Unavailable, false, v1alpha1.ReasonAppArmor, nil},
		"A26 Pod Security": {
			DeploymentFacts{Deployment: deployment(1, with(counts(0, 0, 0), refused(`pods "s-6c9f8b7d5-x7k2p" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`))), Recorded: lifecycle.Available},
			lifecycle.Unavailable, false, v1alpha1.ReasonPodSecurityViolation, []string{failedCreate, "runAsNonRoot != true"}},
		"A62 LimitRange": {
			DeploymentFacts{Deployment: deployment(1, with(counts(0, 0, 0), refused(`pods "s-6c9f8b7d5-x7k2p" is forbidden: minimum memory usage per Container is 256Mi, but request is 64Mi`)))},
			lifecycle.Unavailable, false, v1alpha1.ReasonLimitRangeViolation, []string{"is 256Mi, but request is 64Mi"}},
		"A56 deadline": {
			DeploymentFacts{Deployment: deployment(1, with(counts(1, 1, 0), late))}, lifecycle.Unavailable, false, v1alpha1.ReasonProgressDeadlineExceeded, []string{"timed out progressing"}},
		"A56 after the deadline it came up": {
			DeploymentFacts{Deployment: deployment(1, with(counts(1, 1, 1), late)), Recorded: lifecycle.Unavailable}, lifecycle.Available, true, v1alpha1.ReasonAvailable, nil},
		"suspended": {
			DeploymentFacts{Deployment: deployment(0, counts(1, 1, 1)), Recorded: lifecycle.Available, Suspended: true}, none, false, v1alpha1.ReasonSuspended, []string{"spec.suspend"}},
		"scaled to zero": {
			DeploymentFacts{Deployment: deployment(0, counts(0, 0, 0))}, none, false, v1alpha1.ReasonScaledToZero, []string{"serve.replicas"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.facts.Name = "s"
			view := Deployment(c.facts)
			assert.Equal(t, c.available, view.Available)
			assert.Equal(t, c.reason, view.Cause.Reason, view.Cause.Message)
			for _, text := range c.contains {
				assert.Contains(t, view.Cause.Message, text)
			}
			if c.observed == none {
				assert.Nil(t, view.Observation)
			} else {
				assert.Equal(t, &lifecycle.ObserveDeployment{Name: "s", Availability: c.observed}, view.Observation)
			}
			if c.facts.Deployment != nil {
				assert.Equal(t, c.facts.Deployment.Status.Replicas, view.Replicas)
			}
		})
	}
}

// Which of two ready pods is the available one shows in how long it is ready.
func TestTroubleIsLookedForInPodsThatAreNotAvailable(t *testing.T) {
	readySince := func(n int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: second(n)}}
		}
	}
	stable := servePod(running, named("s-1-stable"), lastExit(7, "Error"), readySince(5))
	looping := servePod(running, named("s-1-looping"), lastExit(8, "Error"), readySince(50))
	view := Deployment(DeploymentFacts{Name: "s", Deployment: deployment(2, counts(2, 2, 1)), Pods: []corev1.Pod{looping, stable}})
	assert.Contains(t, view.Cause.Message, "s-1-looping")
	assert.NotContains(t, view.Cause.Message, "s-1-stable")
}

// From the first write of a Deployment to its first available pod the text stays
// the same, so that the status is not written again in between (case A57).
func TestA57StartingSaysWhoServesMeanwhile(t *testing.T) {
	const starting = "Deployment s: 0 of 2 pods of the present document are available. They are starting; if that lasts, read their logs and check serve.probes.readiness."
	unseen := func(status appsv1.DeploymentStatus) *appsv1.Deployment {
		d := deployment(2, status)
		d.Generation = 2
		return d
	}
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		want       string
	}{
		"just created":                                {unseen(counts(0, 0, 0)), starting},
		"seen, no pod yet":                            {deployment(2, counts(0, 0, 0)), starting},
		"pods start":                                  {deployment(2, counts(2, 2, 0)), starting},
		"just changed, former pods serve":             {unseen(counts(2, 2, 2)), starting + " Pods of a former document serve meanwhile."},
		"change seen, former pods serve":              {deployment(2, counts(2, 0, 2)), starting + " Pods of a former document serve meanwhile."},
		"present pods start beside former that serve": {deployment(2, counts(3, 1, 2)), starting + " Pods of a former document serve meanwhile."},
	} {
		t.Run(name, func(t *testing.T) {
			view := Deployment(DeploymentFacts{Name: "s", Deployment: c.deployment})
			assert.Equal(t, Cause{v1alpha1.ReasonRolloutInProgress, c.want}, view.Cause)
			assert.Nil(t, view.Observation)
		})
	}
}

func TestA58NothingChangesFromRestartToRestart(t *testing.T) {
	notReady := func(p *corev1.Pod) { agentStatus(p).Ready = false }
	faces := []corev1.Pod{
		servePod(exited(1, "Error")),
		servePod(waitingFor("CrashLoopBackOff", "back-off 10s"), lastExit(1, "Error")),
		servePod(running, lastExit(1, "Error"), notReady),
		servePod(running, lastExit(1, "Error")),
		servePod(waitingFor("CrashLoopBackOff", "back-off 5m0s"), lastExit(1, "Error"), lastExit(1, "Error")),
	}
	var first *ServeView
	for _, face := range faces {
		view := Deployment(DeploymentFacts{Name: "s", Deployment: deployment(1, counts(1, 1, 0)), Pods: []corev1.Pod{face}, Recorded: lifecycle.Unavailable})
		if first == nil {
			first = &view
		}
		assert.Equal(t, *first, view)
	}
	assert.Equal(t, v1alpha1.ReasonCrashLooping, first.Cause.Reason)
}

func withHash(hash string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	}
}

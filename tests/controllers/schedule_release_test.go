package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// A29: a run that cannot make its pod does not block the document that
// corrects what was wrong: the Job keeps its template, and the Job controller
// tries that one without end.
func TestA29CorrectedDocumentIsNotBlockedByARunWithoutAPod(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}}}})
	spec := scheduled()
	spec.Pod = &v1alpha1.PodSettings{Resources: &v1alpha1.Resources{Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "64Mi"}}}
	w.create("t", spec)
	w.inForce("t")
	job := w.tick("t")
	agent := w.await("t", "is blocked", notReady(v1alpha1.ReasonRunBlocked), state(v1alpha1.StateRunning))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), v1alpha1.ReasonLimitRangeViolation)

	edit(w, "t", func(agent *v1alpha1.LoomAgent) {
		agent.Spec.Pod.Resources.Requests[corev1.ResourceMemory] = "256Mi"
	})

	w.gone(&batchv1.Job{ObjectMeta: w.meta(job.Name)})
	w.inForce("t")
	w.tick("t")
	w.ends(w.pod("t"), exit(0))
	w.await("t", "has a last run", condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionTrue, v1alpha1.ReasonLastRunSucceeded))
}

// A29: a run of a former document whose program has started is not removed;
// the message tells how to make way for the present document.
func TestA29FormerRunThatHasStartedIsTold(t *testing.T) {
	w := newWorld(t)
	w.create("t", scheduled())
	w.inForce("t")
	job := w.tick("t")
	pod := w.pod("t")
	w.report(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: v1alpha1.AgentContainer, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}},
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}},
		}}
	})
	w.await("t", "is blocked", notReady(v1alpha1.ReasonRunBlocked))

	edit(w, "t", func(agent *v1alpha1.LoomAgent) { agent.Spec.Image = image("2") })

	agent := w.await("t", "is blocked by a former run", notReady(v1alpha1.ReasonRunBlocked), state(v1alpha1.StateRunning))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "delete job "+job.Name)
	assert.Equal(t, job.UID, get[batchv1.Job](w, job.Name).UID)
}

package observe

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// DeploymentFacts is what is known of the Deployment of a serving agent.
type DeploymentFacts struct {
	// Name of the agent.
	Name string
	// Deployment is nil when there is none.
	Deployment *appsv1.Deployment
	// Pods are those that the Deployment selects, of whatever template.
	Pods []corev1.Pod
	// Recorded is what the status says for the agent's present generation;
	// empty when nothing is recorded for it.
	Recorded lifecycle.Availability
	// Suspended tells that the document asks for no pods.
	Suspended bool
}

// ServeView is what the facts say of a serving agent.
type ServeView struct {
	// Observation is nil while there is nothing to observe: the Deployment
	// controller has not seen the latest change, a first rollout goes on
	// without trouble, or no pods are asked for.
	Observation *lifecycle.ObserveDeployment
	// Available is the status of the condition Available.
	Available bool
	// Cause is the reason and message of that condition. It is never zero.
	Cause Cause
	// Replicas is the number of pods that exist, for the scale subresource.
	Replicas int32
}

// Deployment judges a serving agent. It is available when at least one pod of
// the present template is; the message then says how many of how many. The
// numbers of a former template never count for a new generation of the agent
// (case A57), and no failure is final (case A56).
func Deployment(f DeploymentFacts) ServeView {
	if f.Deployment == nil {
		return ServeView{Cause: Cause{v1alpha1.ReasonRolloutInProgress, fmt.Sprintf("Agent %s has no Deployment yet.", f.Name)}}
	}
	r := newRollout(f.Deployment)
	view := ServeView{Replicas: f.Deployment.Status.Replicas}
	switch {
	case r.desired <= 0:
		view.Cause = f.withoutPods()
	case f.Deployment.Status.ObservedGeneration < f.Deployment.Generation && f.Recorded == "":
		view.Cause = r.starting()
	case f.Deployment.Status.ObservedGeneration < f.Deployment.Generation:
		view.Available = f.Recorded == lifecycle.Available
		view.Cause = Cause{v1alpha1.ReasonRolloutInProgress, fmt.Sprintf("Deployment %s was changed and its controller has not seen that yet.", f.Deployment.Name)}
	default:
		f.judge(r, &view)
	}
	return view
}

// starting is the same from the first write of a Deployment to its first
// available pod, so that the status is not written again in between.
func (r rollout) starting() Cause {
	cause := Cause{v1alpha1.ReasonRolloutInProgress, fmt.Sprintf("Deployment %s: 0 of %d pods of the present document are available. They are starting; if that lasts, read their logs and check serve.probes.readiness.", r.deployment.Name, r.desired)}
	if r.deployment.Status.AvailableReplicas > 0 {
		return cause.and("Pods of a former document serve meanwhile.")
	}
	return cause
}

func (f DeploymentFacts) withoutPods() Cause {
	if f.Suspended {
		return Cause{v1alpha1.ReasonSuspended, fmt.Sprintf("Agent %s is suspended and has no pods. Set spec.suspend to false to go on.", f.Name)}
	}
	return Cause{v1alpha1.ReasonScaledToZero, fmt.Sprintf("Deployment %s is scaled to 0 pods. Raise serve.replicas, or let an autoscaler do it.", f.Deployment.Name)}
}

func (f DeploymentFacts) judge(r rollout, view *ServeView) {
	trouble := f.trouble(r)
	counted := Cause{v1alpha1.ReasonAvailable, fmt.Sprintf("Deployment %s: %d of %d pods are available.", f.Deployment.Name, r.available, r.desired)}
	former := fmt.Sprintf("%d pods of the former template still serve.", r.former)
	switch {
	case r.available > 0:
		view.Available, view.Cause = true, counted
		if trouble != (Cause{}) && r.available < r.desired {
			view.Cause = counted.and(trouble.Message)
		}
	case trouble != (Cause{}):
		view.Cause = trouble
		if r.former > 0 {
			view.Cause = trouble.and(former)
		}
	case f.Recorded == lifecycle.Available && r.former > 0:
		// Something that the template depends on was renewed. The former pods
		// run the same generation of the agent.
		view.Available = true
		view.Cause = Cause{v1alpha1.ReasonRolloutInProgress, counted.Message + " " + former}
	case f.Recorded == "":
		view.Cause = r.starting()
		return
	default:
		view.Cause = Cause{v1alpha1.ReasonUnavailable, counted.Message + " If that lasts, read the pods' logs and check their readiness probe."}
	}
	availability := lifecycle.Unavailable
	if view.Available {
		availability = lifecycle.Available
	}
	view.Observation = &lifecycle.ObserveDeployment{Name: f.Name, Availability: availability}
}

// trouble is the most telling reason why pods are missing: what a pod shows,
// then why none can be made, then that the rollout took too long.
func (f DeploymentFacts) trouble(r rollout) Cause {
	for _, pod := range f.unavailable(r) {
		cause := Pod(pod)
		if status := agentStatus(pod); cause == (Cause{}) && status != nil && !finished(pod) {
			cause = restarted(pod, status)
		}
		if cause != (Cause{}) {
			return cause
		}
	}
	if c := r.condition(appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		return forbidden("Deployment", f.Deployment.Name, c.Message)
	}
	if c := r.condition(appsv1.DeploymentProgressing); c != nil && c.Status == corev1.ConditionFalse {
		return Cause{v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("Deployment %s makes no progress: %s. Read the pods' logs and check their readiness probe.", f.Deployment.Name, refusal(f.Deployment.Name, c.Message))}
	}
	return Cause{}
}

// unavailable returns the pods of the present template that the Deployment
// does not count as available, oldest first, those that run or start before
// those that have ended. Which ones are available needs no clock: those that
// have been ready for the longest.
func (f DeploymentFacts) unavailable(r rollout) []*corev1.Pod {
	var ready, rest []*corev1.Pod
	for _, pod := range r.present(f.Pods) {
		if readySince(pod) != nil {
			ready = append(ready, pod)
		} else {
			rest = append(rest, pod)
		}
	}
	slices.SortStableFunc(ready, func(a, b *corev1.Pod) int { return readySince(a).Compare(readySince(b).Time) })
	rest = append(rest, ready[min(int(r.available), len(ready)):]...)
	slices.SortFunc(rest, func(a, b *corev1.Pod) int {
		return cmp.Or(compareBool(finished(a), finished(b)), compareAge(a, b))
	})
	return rest
}

// readySince is nil for a pod that is not ready.
func readySince(pod *corev1.Pod) *metav1.Time {
	if c := podCondition(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return &c.LastTransitionTime
	}
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// rollout is where a Deployment stands.
type rollout struct {
	deployment *appsv1.Deployment
	desired    int32
	// available is how many pods of the present template are certainly
	// available.
	available int32
	// former is how many available pods may be of a template before it, and
	// formerPods how many pods are.
	former, formerPods int32
}

// newRollout counts. The Deployment gives one number of available pods for all
// templates; what exceeds the number of former pods must be present ones.
func newRollout(deployment *appsv1.Deployment) rollout {
	r := rollout{deployment: deployment, desired: 1}
	if deployment.Spec.Replicas != nil {
		r.desired = *deployment.Spec.Replicas
	}
	status := deployment.Status
	r.formerPods = max(0, status.Replicas-status.UpdatedReplicas)
	r.available = max(0, min(status.AvailableReplicas-r.formerPods, status.UpdatedReplicas, r.desired))
	r.former = max(0, min(status.AvailableReplicas, r.formerPods))
	return r
}

func (r rollout) condition(of appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(r.deployment.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &r.deployment.Status.Conditions[i]
}

// present returns the pods of the present template, oldest first, without
// those that are being replaced. Only the ReplicaSets could say for certain
// which they are. While pods of two templates exist, those of the newest pod's
// template are taken: a rollout makes pods of no other.
func (r rollout) present(pods []corev1.Pod) []*corev1.Pod {
	sorted := slices.DeleteFunc(oldestFirst(pods), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || finished(pod) && disruption(pod) != ""
	})
	switch {
	case len(sorted) == 0 || r.deployment.Status.UpdatedReplicas == 0:
		return nil
	case r.formerPods == 0:
		return sorted
	}
	newest := sorted[len(sorted)-1].Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	return slices.DeleteFunc(sorted, func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != newest
	})
}

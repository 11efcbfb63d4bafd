package agentserve

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/internal/workload"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// watch observes the Deployment, if there is one, and writes no child.
func (s serve) watch(ctx context.Context, pass *journal.Pass) error {
	agent, deployment := pass.Object(), &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: agent.Namespace, Name: workload.DeploymentName(agent)}
	err := s.Client.Get(ctx, key, deployment)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Deployment %q: %w", key.Name, err)
	}
	if recorded := agent.Status.Workload; recorded == nil || recorded.UID != deployment.UID {
		return nil
	}
	return s.observe(ctx, pass, deployment)
}

// observe turns the Deployment and its pods into the agent's state, and ends
// the pass with the reason why the agent is not available, if it is not. An
// observation that repeats what is recorded is not made: it changes nothing.
func (s serve) observe(ctx context.Context, pass *journal.Pass, deployment *appsv1.Deployment) error {
	agent := pass.Object()
	pods, err := gather.Pods(ctx, s.Client, agent)
	if err != nil {
		return err
	}
	view := observe.Deployment(facts(pass, deployment, pods))
	if view.Cause.Reason != v1alpha1.ReasonRolloutInProgress {
		agent.Status.Workload.Replicas = view.Replicas
	}
	if observation := view.Observation; observation != nil && observation.Availability != recorded(pass) {
		if err := journal.Observe(pass, *observation); err != nil {
			return err
		}
	}
	if !view.Available {
		return stages.Wait(view.Cause.Reason, view.Cause.Message, patience(view.Cause))
	}
	pass.Reached(view.Cause.Reason, view.Cause.Message)
	return nil
}

// lookAgainAfter is how long an agent that is not available is left alone when
// no watch reports a change. The answer depends on nothing that is not watched,
// so this is only for certainty.
const lookAgainAfter = 10 * time.Minute

// patience is longer for a Deployment that has no pods on purpose.
func patience(cause observe.Cause) time.Duration {
	if cause.Reason == v1alpha1.ReasonSuspended || cause.Reason == v1alpha1.ReasonScaledToZero {
		return intake.RestFor
	}
	return lookAgainAfter
}

func facts(pass *journal.Pass, deployment *appsv1.Deployment, pods []corev1.Pod) observe.DeploymentFacts {
	agent := pass.Object()
	return observe.DeploymentFacts{
		Name: agent.Name, Deployment: deployment, Pods: pods,
		Recorded: recorded(pass), Suspended: agent.Suspended(),
	}
}

// recorded is the availability that the status has for this generation.
func recorded(pass *journal.Pass) lifecycle.Availability {
	if deployment := pass.Object().Status.Deployment; deployment != nil {
		return lifecycle.Availability(deployment.Availability)
	}
	return ""
}

package scorecard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// cleanup is how long the agent of a test that fails may take to go.
const cleanup = 20 * time.Second

// settled is how long an operator that would make a Job again needs at most.
const settled = 3 * time.Second

// create makes an agent under a name of its own.
func (c Cluster) create(ctx context.Context, agent *v1alpha1.LoomAgent, prefix string) error {
	agent.Namespace, agent.GenerateName = c.Namespace, prefix
	return c.Client.Create(ctx, agent)
}

// remove deletes an agent that may be gone, also when the test has been given
// up.
func (c Cluster) remove(agent *v1alpha1.LoomAgent) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	return client.IgnoreNotFound(c.Client.Delete(ctx, agent))
}

// reach waits until the status is about the present generation and holds. A
// condition that explains nothing is a fault at any time.
func (c Cluster) reach(ctx context.Context, agent *v1alpha1.LoomAgent, what string, holds func(v1alpha1.LoomAgentStatus) bool) error {
	return await(ctx, what, func(ctx context.Context) error {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err
		}
		told := make([]string, 0, len(agent.Status.Conditions))
		for _, condition := range agent.Status.Conditions {
			if condition.Reason == "" || condition.Message == "" {
				return fmt.Errorf("its condition %s explains nothing", condition.Type)
			}
			told = append(told, fmt.Sprintf("%s is %s: %s", condition.Type, condition.Status, condition.Message))
		}
		if agent.Status.ObservedGeneration != agent.Generation || !holds(agent.Status) {
			return fmt.Errorf("%s of generation %d is %s as of generation %d; %s", agent.Name, agent.Generation,
				agent.Status.State, agent.Status.ObservedGeneration, strings.Join(told, " "))
		}
		return nil
	})
}

// notAgain wants a Job that was deleted to stay away.
func (c Cluster) notAgain(ctx context.Context, lost client.Object) error {
	gone := func(ctx context.Context) error {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(lost), &batchv1.Job{})
		if err == nil {
			return fmt.Errorf("the Job %s is there", lost.GetName())
		}
		return client.IgnoreNotFound(err)
	}
	if err := await(ctx, "its Job is gone", gone); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, interval, settled, true, func(ctx context.Context) (bool, error) {
		if err := gone(ctx); err != nil && ctx.Err() == nil {
			return false, fmt.Errorf("it was run again: %w", err)
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return nil
	}
	return err
}

// nothingLeft is an error as long as something that was made for the agent is
// there.
func (c Cluster) nothingLeft(ctx context.Context, agent *v1alpha1.LoomAgent) error {
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &batchv1.JobList{}, &batchv1.CronJobList{}, &corev1.ConfigMapList{},
		&corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{},
	} {
		if err := c.Client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels{v1alpha1.AgentLabel: agent.Name}); err != nil {
			return err
		}
		if count := meta.LenList(list); count > 0 {
			return fmt.Errorf("%d objects of %T", count, list)
		}
	}
	return nil
}

// refusedRecovers gives the operator what the API server admits and the check
// refuses. Each agent says why and runs nothing; one is then corrected and runs.
func refusedRecovers(ctx context.Context, s subject, c Cluster) (found []finding) {
	listed, err := refusals()
	if err != nil {
		return []finding{fault("The documents that must be refused cannot be read: %v.", err)}
	}
	right, err := pick(s, serving.is)
	if err != nil {
		return []finding{fault("There is no example to correct a document by: %v.", err)}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if listed[name].Admitted {
			if err := c.refuse(ctx, listed[name], right.Spec); err != nil {
				found = append(found, fault("A document with %s: %v.", name, err))
			}
		}
	}
	return found
}

func (c Cluster) refuse(ctx context.Context, r refusal, right v1alpha1.LoomAgentSpec) (err error) {
	agent, err := decode(r.document(""))
	if err != nil {
		return err
	}
	if err := c.create(ctx, agent, "scorecard-refused-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.remove(agent)) }()
	refused := func(status v1alpha1.LoomAgentStatus) bool {
		return status.State == v1alpha1.StateRefused && status.Check != nil && status.Check.ExitCode == 1 && status.Workload == nil
	}
	if err := c.reach(ctx, agent, "it is refused", refused); err != nil {
		return err
	}
	if message := agent.Status.Check.Message; !strings.Contains(message, r.Message) {
		return fmt.Errorf("it is refused without saying %q: %s", r.Message, message)
	}
	if err := c.nothingLeft(ctx, agent); err != nil {
		return fmt.Errorf("it is refused, and something runs: %w", err)
	}
	before := agent.DeepCopy()
	agent.Spec = right
	if err := c.Client.Patch(ctx, agent, client.MergeFrom(before)); err != nil {
		return err
	}
	return c.reach(ctx, agent, "it runs once it is corrected", func(status v1alpha1.LoomAgentStatus) bool {
		return status.State == v1alpha1.StateRunning && status.Workload != nil
	})
}

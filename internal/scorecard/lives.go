package scorecard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// life says what becomes of an agent of one kind.
type life struct {
	name string
	// is picks the example that lives it.
	is func(v1alpha1.LoomAgentSpec) bool
	// workload is an empty object of the kind that runs the agent, and podOf
	// its pod template.
	workload func() client.Object
	podOf    func(client.Object) corev1.PodTemplateSpec
	// begun tells that the document is in force, and ended that the agent has
	// come where it goes by itself.
	begun, ended func(v1alpha1.LoomAgentStatus) bool
	// heals says that a workload that somebody deletes is made again.
	heals bool
}

var serving = life{
	name:     "serve",
	is:       func(spec v1alpha1.LoomAgentSpec) bool { return spec.Command == nil && spec.Schedule == nil },
	workload: func() client.Object { return &appsv1.Deployment{} },
	podOf:    func(o client.Object) corev1.PodTemplateSpec { return o.(*appsv1.Deployment).Spec.Template },
	begun:    isReady(v1alpha1.ReasonAvailable),
	ended:    func(status v1alpha1.LoomAgentStatus) bool { return status.State == v1alpha1.StateRunning },
	heals:    true,
}

// A command is run once for each generation, whatever happens to its Job.
var commanded = life{
	name:     "command",
	is:       func(spec v1alpha1.LoomAgentSpec) bool { return spec.Command != nil && spec.Schedule == nil },
	workload: func() client.Object { return &batchv1.Job{} },
	podOf:    func(o client.Object) corev1.PodTemplateSpec { return o.(*batchv1.Job).Spec.Template },
	begun:    completed,
	ended:    completed,
}

var scheduled = life{
	name:     "schedule",
	is:       func(spec v1alpha1.LoomAgentSpec) bool { return spec.Schedule != nil },
	workload: func() client.Object { return &batchv1.CronJob{} },
	podOf: func(o client.Object) corev1.PodTemplateSpec {
		return o.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template
	},
	begun: isReady(v1alpha1.ReasonScheduled),
	ended: func(status v1alpha1.LoomAgentStatus) bool {
		return status.LastRun != nil && status.LastRun.Phase == v1alpha1.RunSucceeded && status.NextRun != nil
	},
	heals: true,
}

func completed(status v1alpha1.LoomAgentStatus) bool {
	return status.State == v1alpha1.StateCompleted && isReady(v1alpha1.ReasonCompleted)(status) &&
		status.Run != nil && status.Run.ExitCode != nil && *status.Run.ExitCode == 0
}

func isReady(reason string) func(v1alpha1.LoomAgentStatus) bool {
	return func(status v1alpha1.LoomAgentStatus) bool {
		return slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool {
			return c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue && c.Reason == reason
		})
	}
}

// livesOf lets the example of the life live it, from its creation until nothing
// is left of it.
func livesOf(l life) func(context.Context, subject, Cluster) []finding {
	return func(ctx context.Context, s subject, c Cluster) []finding {
		agent, err := pick(s, l.is)
		if err != nil {
			return []finding{fault("There is no example to %s: %v.", l.name, err)}
		}
		if err := l.live(ctx, c, agent); err != nil {
			return []finding{fault("The example does not live as it should: %v.", err)}
		}
		return nil
	}
}

func (l life) live(ctx context.Context, c Cluster, agent *v1alpha1.LoomAgent) (err error) {
	if agent.Spec.Schedule != nil {
		agent.Spec.Schedule.Cron = "* * * * *"
	}
	if err := c.create(ctx, agent, "scorecard-"+l.name+"-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.remove(agent)) }()
	if err := c.reach(ctx, agent, "it begins", l.begun); err != nil {
		return err
	}
	if err := l.loseWorkload(ctx, c, agent); err != nil {
		return err
	}
	if err := c.reach(ctx, agent, "it comes to its end", l.ended); err != nil {
		return err
	}
	if err := l.respecify(ctx, c, agent); err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, agent); err != nil {
		return err
	}
	return await(ctx, "nothing is left of it", func(ctx context.Context) error { return c.nothingLeft(ctx, agent) })
}

// loseWorkload deletes what runs the agent.
func (l life) loseWorkload(ctx context.Context, c Cluster, agent *v1alpha1.LoomAgent) error {
	lost, err := l.current(ctx, c, agent)
	if err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, lost, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	if !l.heals {
		return c.notAgain(ctx, lost)
	}
	return c.reach(ctx, agent, "its workload is made again", func(status v1alpha1.LoomAgentStatus) bool {
		return status.Workload != nil && status.Workload.UID != lost.GetUID()
	})
}

// respecify changes the document, and wants the change in the one workload that
// is there.
func (l life) respecify(ctx context.Context, c Cluster, agent *v1alpha1.LoomAgent) error {
	before := agent.DeepCopy()
	change := v1alpha1.EnvVar{Name: "SCORECARD", Value: "respecified"}
	agent.Spec.Env = append(agent.Spec.Env, change)
	if err := c.Client.Patch(ctx, agent, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := c.reach(ctx, agent, "its change is in force", l.begun); err != nil {
		return err
	}
	workload, err := l.current(ctx, c, agent)
	if err != nil {
		return err
	}
	for _, container := range l.podOf(workload).Spec.Containers {
		for _, variable := range container.Env {
			if variable.Name == change.Name && variable.Value == change.Value {
				return nil
			}
		}
	}
	return fmt.Errorf("its change is not in %s", workload.GetName())
}

// current is the workload of the status, which has to be the agent's own.
func (l life) current(ctx context.Context, c Cluster, agent *v1alpha1.LoomAgent) (client.Object, error) {
	if agent.Status.Workload == nil {
		return nil, errors.New("its status names no workload")
	}
	workload := l.workload()
	if err := c.Client.Get(ctx, c.key(agent.Status.Workload.Name), workload); err != nil {
		return nil, err
	}
	if workload.GetUID() != agent.Status.Workload.UID || !metav1.IsControlledBy(workload, agent) {
		return nil, fmt.Errorf("%s is another one than its status says, or not its own", workload.GetName())
	}
	return workload, nil
}

// pick is the first example of the kind, as somebody applies it.
func pick(s subject, is func(v1alpha1.LoomAgentSpec) bool) (*v1alpha1.LoomAgent, error) {
	for _, example := range s.examples {
		agent, err := decode(example)
		if err != nil {
			return nil, err
		}
		if is(agent.Spec) {
			return &v1alpha1.LoomAgent{Spec: agent.Spec}, nil
		}
	}
	return nil, fmt.Errorf("none of the %d examples is of this kind", len(s.examples))
}

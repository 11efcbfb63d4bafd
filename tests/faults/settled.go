package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// settled wants everything that the step is to bring about: the status, how
// the run ended, and the children, all of them owned by this agent.
func (l *life) settled(ctx context.Context, s step) error {
	agent := l.witness.agent()
	if s.spec == nil {
		if agent != nil {
			return errors.New("the agent is still there")
		}
		return errors.Join(l.children(ctx, s), l.podless(ctx))
	}
	if agent == nil || agent.Generation < l.generation {
		return errors.New("the agent has not been seen yet")
	}
	if err := l.judged(agent, s); err != nil {
		return err
	}
	return l.children(ctx, s)
}

func (l *life) judged(agent *v1alpha1.LoomAgent, s step) error {
	if s.settled == nil {
		return nil
	}
	state, present := agent.Status.State, agent.Status.ObservedGeneration == agent.Generation
	switch {
	case !l.isLost(s):
		return s.settled(agent)
	case s.tick && present && agent.Status.LastRun == nil:
		return is(agent, v1alpha1.StateRunning, v1alpha1.ReasonScheduled)
	case s.tick:
		return s.settled(agent)
	case !present || state != v1alpha1.StateFailed && state != v1alpha1.StateCompleted:
		return fmt.Errorf("the run whose Job was taken away has not ended: state is %s", state)
	default:
		return nil
	}
}

// checkRun compares the recorded end of the step's run with the ledger, and
// the starts with the one that may be.
func (l *life) checkRun(s step) {
	if s.code == nil {
		return
	}
	starts, lost := l.ledger.startsOf(s.document()), l.isLost(s)
	if len(starts) > 1 || len(starts) == 0 && !lost {
		l.failed(fmt.Errorf("step %q started its program %d times: %s", s.name, len(starts), strings.Join(starts, ", ")))
	}
	agent := l.witness.agent()
	if agent == nil {
		l.failed(fmt.Errorf("the agent is gone after step %q", s.name))
		return
	}
	run := agent.Status.Run
	if s.tick && agent.Status.LastRun != nil {
		run = &agent.Status.LastRun.RunEnd
	}
	if s.tick && lost && agent.Status.LastRun == nil {
		return // Nobody saw the run, and nobody can tell that there was one.
	}
	if run == nil {
		l.failed(fmt.Errorf("step %q has recorded no end", s.name))
		return
	}
	was, known := l.ledger.endOf(s.document())
	if !known && run.ExitCode != nil {
		l.failed(fmt.Errorf("step %q has recorded %s, and its program has not ended", s.name, recorded(*run)))
		return
	}
	if err := ended(*run, was, lost); err != nil {
		l.failed(fmt.Errorf("step %q: %w", s.name, err))
	}
}

// children wants the workloads of the step, and nothing that an earlier one,
// or another agent, has left.
func (l *life) children(ctx context.Context, s step) error {
	var workloads, configs []string
	owners := map[string]bool{l.uid: s.spec != nil}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &batchv1.CronJobList{}, &batchv1.JobList{},
		&corev1.ConfigMapList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{},
	} {
		if err := l.cluster.Client.List(ctx, list, client.InNamespace(l.namespace), client.HasLabels{v1alpha1.AgentLabel}); err != nil {
			return fmt.Errorf("list children: %w", err)
		}
		kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", list), "*v1."), "List")
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			child := item.(client.Object)
			owner := metav1.GetControllerOf(child)
			if owner == nil || !owners[string(owner.UID)] {
				return fmt.Errorf("%s %s is left over", kind, child.GetName())
			}
			owners[string(child.GetUID())] = true
			switch {
			case string(owner.UID) != l.uid:
			case kind == "ConfigMap":
				configs = append(configs, child.GetName())
			case kind == "Deployment" || kind == "CronJob" || kind == "Job":
				workloads = append(workloads, kind)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	// A schedule keeps the former one for a run that has just been started.
	if len(configs) > 1 && !s.tick {
		return fmt.Errorf("the ConfigMaps of earlier documents are left over: %s", strings.Join(configs, ", "))
	}
	if !slices.Equal(workloads, s.workloads) && !(len(workloads) == 0 && (l.isLost(s) || l.expires && s.code != nil)) {
		return fmt.Errorf("the workloads are %v, not %v", workloads, s.workloads)
	}
	return nil
}

// podless wants no pods.
func (l *life) podless(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := l.cluster.Client.List(ctx, pods, client.InNamespace(l.namespace)); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if len(pods.Items) > 0 {
		return fmt.Errorf("pod %s is left over", pods.Items[0].Name)
	}
	return nil
}

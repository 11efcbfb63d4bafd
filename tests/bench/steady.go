package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// steady measures the operator while there is nothing to do: after a restart,
// and in an idle minute.
func (t trial) steady(ctx context.Context, p *plane, o *operator, column *Column) error {
	if err := p.rollOut(ctx); err != nil {
		return err
	}
	before, err := p.calls(ctx)
	if err != nil {
		return err
	}
	ready, err := o.again(ctx, t.agents)
	if err != nil {
		return err
	}
	full, err := o.atRest(ctx)
	if err != nil {
		return err
	}
	after, err := p.calls(ctx)
	if err != nil {
		return err
	}
	column.add(restartTime, ready.Seconds())
	column.add(restartWrites, after.minus(before).writes())
	column.add(idleMemory, full.resident/mebi)
	t.say("restarted in %.1f s", ready.Seconds())
	t.heap(ctx, o.pprof)
	if !t.most || t.idle == 0 {
		return nil
	}
	t.say("left alone for %s", t.idle)
	if err := pause(ctx, t.idle); err != nil {
		return err
	}
	idle, err := p.calls(ctx)
	if err != nil {
		return err
	}
	column.add(idleWrites, idle.minus(after).writes())
	column.add(idleRequests, idle.minus(after).total())
	return nil
}

// few measures what is most telling with few agents.
func (t trial) few(ctx context.Context, p *plane, o *operator, column *Column) error {
	if t.samples > 0 {
		t.say("%d agents one by one", t.samples)
		latencies, err := p.latencies(ctx, t, p.create)
		if err != nil {
			return err
		}
		column.add(latencyMedian, percentile(latencies, 50))
		column.add(latencyP99, percentile(latencies, 99))
		column.latency()
	}
	if t.others == 0 {
		return nil
	}
	t.say("%d unrelated objects", t.others)
	change, err := t.crowd(ctx, p, o)
	column.add(crowdMemory, change)
	return err
}

// rollOut makes every Deployment available, as Kubernetes' controller does, and
// returns once the agents show it. An agent in its rollout does not rest: the
// operator looks at it again every few minutes.
func (p *plane) rollOut(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	if err := p.cluster.Client.List(ctx, &deployments, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, deployment := range deployments.Items {
		group.Go(func() error {
			deployment.Status = appsv1.DeploymentStatus{
				ObservedGeneration: deployment.Generation,
				Replicas:           1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			}
			if err := p.cluster.Client.Status().Update(within, &deployment); err != nil {
				return fmt.Errorf("make Deployment %s available: %w", deployment.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.awaitAvailable(ctx)
}

func (p *plane) awaitAvailable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	for {
		var agents v1alpha1.LoomAgentList
		if err := p.cluster.Client.List(ctx, &agents, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("list agents: %w", err)
		}
		if !slices.ContainsFunc(agents.Items, startsToServe) {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return fmt.Errorf("wait until all agents that serve are available: %w", err)
		}
	}
}

// startsToServe tells that a serving agent does not show its Deployment as available.
func startsToServe(agent v1alpha1.LoomAgent) bool {
	seen := agent.Status.Deployment
	return agent.Spec.Schedule == nil && agent.Variant() == v1alpha1.AgentServe && (seen == nil || seen.Availability != v1alpha1.Available)
}

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// between two samples everything that the first one caused comes to its end.
const between = 150 * time.Millisecond

// latencies starts agents one after the other and returns, in milliseconds, how
// long each takes until a watch shows the child that runs it.
func (p *plane) latencies(ctx context.Context, t trial, start func(ctx context.Context, name string, l life) error) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	children := make(chan string, t.samples)
	for _, kind := range []client.ObjectList{&appsv1.DeploymentList{}, &batchv1.JobList{}, &batchv1.CronJobList{}} {
		events, err := p.cluster.Client.Watch(ctx, kind, client.InNamespace(namespace))
		if err != nil {
			return nil, fmt.Errorf("watch children: %w", err)
		}
		defer events.Stop()
		go announce(events.ResultChan(), children)
	}
	var took []float64
	for i := range t.samples {
		name := fmt.Sprintf("sample-%d", i)
		began := time.Now()
		if err := start(ctx, name, of(t.variant, i)); err != nil {
			return nil, err
		}
		if err := await(ctx, children, name); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
		if err := pause(ctx, between); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// announce names the agent of each child that appears.
func announce(events <-chan watch.Event, agents chan<- string) {
	for event := range events {
		if child, ok := event.Object.(client.Object); ok && event.Type == watch.Added {
			agents <- child.GetLabels()[v1alpha1.AgentLabel]
		}
	}
}

func await(ctx context.Context, agents <-chan string, name string) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stuck):
			return fmt.Errorf("agent %s has no child after %s", name, stuck)
		case agent := <-agents:
			if agent == name {
				return nil
			}
		}
	}
}

// percentile is the smallest value that so many percent of the values do not
// exceed. Of no values it is 0.
func percentile(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}

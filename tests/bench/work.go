package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// workers make agents at once, in the floor and for the operator.
	workers = 8
	// quiet is how long after the last agent was settled everything that it
	// caused is counted too.
	quiet = 2 * time.Second
	// stuck is how long nothing may settle before the run is given up.
	stuck = 2 * time.Minute
)

// who is measured: how an agent begins, and the operator's process if there is
// one, whose runs the bench then ends.
type who struct {
	name  string
	start func(ctx context.Context, name string, l life) error
	pid   int
	// pprof is where the operator's profiles are; empty means nowhere.
	pprof string
}

// usage is a reading of everything that is counted.
type usage struct {
	calls               calls
	apiServer, operator time.Duration
}

func (p *plane) usage(ctx context.Context, pid int) (u usage, err error) {
	if u.calls, err = p.calls(ctx); err != nil {
		return u, err
	}
	if u.apiServer, err = cpuOf(p.apiServer); err != nil || pid == 0 {
		return u, err
	}
	u.operator, err = cpuOf(pid)
	return u, err
}

// work lets all agents of a trial live and returns what that took. The floor
// and the operator are watched in the same way, since watching costs the API
// server too.
func (p *plane) work(ctx context.Context, t trial, w who) (work, error) {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	agents, err := p.cluster.Client.Watch(ctx, &v1alpha1.LoomAgentList{}, client.InNamespace(namespace))
	if err != nil {
		return work{}, fmt.Errorf("watch agents: %w", err)
	}
	defer agents.Stop()
	jobs, err := p.cluster.Client.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace))
	if err != nil {
		return work{}, fmt.Errorf("watch Jobs: %w", err)
	}
	defer jobs.Stop()
	before, err := p.usage(ctx, w.pid)
	if err != nil {
		return work{}, err
	}
	began := time.Now()
	profiled := t.profile(outer, p, w)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return startAll(ctx, t, w.start) })
	ending, endRuns := context.WithCancel(ctx)
	group.Go(func() error { return endAll(ending, p.cluster.Client, jobs.ResultChan(), w.pid != 0) })
	var settled time.Time
	group.Go(func() (err error) {
		defer endRuns()
		settled, err = awaitAll(ctx, t, agents.ResultChan())
		return err
	})
	if err := group.Wait(); err != nil {
		return work{}, err
	}
	profiled()
	return p.done(outer, w, before, settled.Sub(began))
}

// done counts once everything that the agents caused is over.
func (p *plane) done(ctx context.Context, w who, before usage, settle time.Duration) (work, error) {
	if err := pause(ctx, quiet); err != nil {
		return work{}, err
	}
	after, err := p.usage(ctx, w.pid)
	if err != nil {
		return work{}, err
	}
	done := work{settle: settle, calls: after.calls.minus(before.calls), apiServer: after.apiServer - before.apiServer, operator: after.operator - before.operator}
	if w.pid != 0 {
		done.memory, err = memoryOf(w.pid)
	}
	return done, err
}

// work is what the lives of all agents took.
type work struct {
	// settle is the time from the first create until the last agent was settled.
	settle time.Duration
	// apiServer and operator are CPU time.
	apiServer, operator time.Duration
	// memory of the operator.
	memory memory
	calls  calls
}

// name is that of the i-th agent.
func (t trial) name(i int) string { return fmt.Sprintf("%s-%d", t.variant, i) }

// startAll starts every agent.
func startAll(ctx context.Context, t trial, start func(context.Context, string, life) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range t.agents {
		group.Go(func() error { return start(ctx, t.name(i), of(t.variant, i)) })
	}
	return group.Wait()
}

// endAll ends the run of every Job that is resumed, until it is told to stop. A
// watch begins with what is there, such as the Jobs of former trials.
func endAll(ctx context.Context, c client.Client, jobs <-chan watch.Event, wanted bool) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	seen := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return group.Wait()
		case event := <-jobs:
			job, ok := event.Object.(*batchv1.Job)
			if !ok {
				return fmt.Errorf("the watch of Jobs ended: %v", event)
			}
			if !wanted || *job.Spec.Suspend || job.Status.CompletionTime != nil || seen[job.Name] {
				continue
			}
			seen[job.Name] = true
			group.Go(func() error { return end(within, c, job) })
		}
	}
}

// awaitAll returns when the last agent was settled.
func awaitAll(ctx context.Context, t trial, agents <-chan watch.Event) (time.Time, error) {
	is := map[string]func(*v1alpha1.LoomAgent) bool{}
	for i := range t.agents {
		is[t.name(i)] = of(t.variant, i).settled
	}
	last := &v1alpha1.LoomAgent{}
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-time.After(stuck):
			return time.Time{}, fmt.Errorf("%d of %d agents have not settled, and nothing has happened for %s; the conditions of %q are %v", len(is), t.agents, stuck, last.Name, last.Status.Conditions)
		case event := <-agents:
			agent, ok := event.Object.(*v1alpha1.LoomAgent)
			if !ok {
				return time.Time{}, fmt.Errorf("the watch of agents ended: %v", event)
			}
			last = agent
			if settled := is[agent.Name]; settled != nil && settled(agent) {
				delete(is, agent.Name)
			}
			if len(is) == 0 {
				return time.Now(), nil
			}
		}
	}
}

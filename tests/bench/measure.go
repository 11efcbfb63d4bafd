package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// floorUpTo is the most agents that are measured next to their floor, and more
// than once. With more it takes minutes and tells nothing new: the counts are
// exact, and the longer a run takes, the less does chance move it.
const floorUpTo = 1000

// measure makes every run in turn. Floor and operator follow each other, each
// with an empty etcd, so that a machine that gets slower does so for both.
func measure(ctx context.Context, chosen options) (Report, error) {
	report := Report{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly)}
	for _, r := range chosen.runs {
		column := newColumn(r)
		plan := trial{options: chosen, batch: r, most: r.agents == chosen.most(), small: r == chosen.fewestMixed()}
		repeat := chosen.repeat
		if r.agents > floorUpTo {
			repeat = 1
		}
		for repetition := range repeat {
			plan.say("begins, repetition %d of %d", repetition+1, repeat)
			if err := plan.measure(ctx, &report, column); err != nil {
				return report, fmt.Errorf("%s, repetition %d: %w", r, repetition+1, err)
			}
		}
		report.Columns = append(report.Columns, *column)
	}
	report.grow()
	return report, nil
}

func machine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.Processor, m.MemoryGiB = processor(), memoryGiB()
	return m
}

// batch is one variant with one number of agents.
type batch struct {
	variant string
	agents  int
}

func (b batch) String() string { return fmt.Sprintf("%s %d", b.variant, b.agents) }

func byAgents(a, b batch) int { return a.agents - b.agents }

// most is the largest number of agents of all runs.
func (o options) most() int { return slices.MaxFunc(o.runs, byAgents).agents }

// fewestMixed is the mixed run with the fewest agents; the zero batch when there
// is none.
func (o options) fewestMixed() batch {
	others := func(r batch) bool { return r.variant != mixed || r.agents > floorUpTo }
	runs := slices.DeleteFunc(slices.Clone(o.runs), others)
	if len(runs) == 0 {
		return batch{}
	}
	return slices.MinFunc(runs, byAgents)
}

// trial is a run as it is measured.
type trial struct {
	options
	batch
	// most tells that no run has more agents: its idle minute is measured.
	most bool
	// small tells that what is most telling with few agents is measured too.
	small bool
}

// say prints how far the bench has come.
func (t trial) say(format string, args ...any) {
	fmt.Fprintf(t.progress, "%s %s: %s\n", time.Now().Format(time.TimeOnly), t.batch, fmt.Sprintf(format, args...))
}

// measure is one repetition: the floor, then the operator.
func (t trial) measure(ctx context.Context, report *Report, column *Column) error {
	var floor *work
	if t.agents <= floorUpTo {
		err := t.inPlane(ctx, func(p *plane) (err error) {
			floor, err = t.floor(ctx, p, column)
			return err
		})
		if err != nil {
			return fmt.Errorf("the floor: %w", err)
		}
	}
	err := t.inPlane(ctx, func(p *plane) error {
		report.Machine.Kubernetes, report.Machine.Etcd = p.versions.Kubernetes, p.versions.Etcd
		return t.operate(ctx, p, floor, column)
	})
	if err != nil {
		return fmt.Errorf("the operator: %w", err)
	}
	return nil
}

// inPlane brings up a control plane for one part of a repetition.
func (t trial) inPlane(ctx context.Context, part func(*plane) error) (err error) {
	p, err := newPlane(ctx, t.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Down(context.WithoutCancel(ctx))) }()
	return part(p)
}

// floor measures the bare client.
func (t trial) floor(ctx context.Context, p *plane, column *Column) (*work, error) {
	bare, err := newBare(p.cluster)
	if err != nil {
		return nil, err
	}
	done, err := p.work(ctx, t, who{name: "floor", start: bare.live})
	if err != nil {
		return nil, err
	}
	t.say("the floor settles in %.1f s", done.settle.Seconds())
	if !t.small || t.samples == 0 {
		return &done, nil
	}
	latencies, err := p.latencies(ctx, t, bare.child)
	column.add(bareLatency, percentile(latencies, 99))
	return &done, err
}

// operate measures the operator, from its start in an empty cluster on.
func (t trial) operate(ctx context.Context, p *plane, floor *work, column *Column) error {
	return p.withOperator(ctx, func(o *operator) error {
		done, err := p.work(ctx, t, o.who(p))
		if err != nil {
			return err
		}
		t.say("the operator settles in %.1f s", done.settle.Seconds())
		column.settled(done, t.theirs())
		if floor != nil {
			column.compared(done, *floor)
		}
		if err := t.steady(ctx, p, o, column); err != nil {
			return err
		}
		if !t.small {
			return nil
		}
		return t.few(ctx, p, o, column)
	})
}

// withOperator runs the operator for one part of a repetition.
func (p *plane) withOperator(ctx context.Context, part func(*operator) error) (err error) {
	dir, err := os.MkdirTemp("", "loom-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o, err := startOperator(ctx, p.cluster, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return part(o)
}

package main

import "context"

// steady measures the operator while there is nothing to do: after a restart,
// and in an idle minute.
func (t trial) steady(ctx context.Context, p *plane, o *operator, column *Column) error {
	before, err := p.calls(ctx)
	if err != nil {
		return err
	}
	ready, err := o.again(ctx, t.agents)
	if err != nil {
		return err
	}
	if err := o.rest(ctx); err != nil {
		return err
	}
	full, err := memoryOf(o.Process().Pid)
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

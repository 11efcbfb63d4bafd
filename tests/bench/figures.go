package main

import (
	"fmt"
	"math"
)

// The keys of the figures, as the JSON has them.
const (
	settleTime    = "settleSeconds"
	floorTime     = "floorSettleSeconds"
	settleRatio   = "settleToFloor"
	apiCPU        = "apiServerCPUMillisecondsPerAgent"
	floorCPU      = "floorAPIServerCPUMillisecondsPerAgent"
	apiRatio      = "apiServerCPUToFloor"
	writes        = "writesPerAgent"
	reads         = "readsPastCachePerAgent"
	conflicts     = "conflicts"
	operatorCPU   = "operatorCPUSeconds"
	perAgentCPU   = "operatorCPUMillisecondsPerAgent"
	growthCPU     = "operatorCPUPerAgentToFewestAgents"
	peakMemory    = "operatorPeakMiB"
	idleMemory    = "operatorIdleMiB"
	agentMemory   = "idleAgentKiB"
	latencyMedian = "latencyMedianMilliseconds"
	latencyP99    = "latencyP99Milliseconds"
	bareLatency   = "bareLatencyP99Milliseconds"
	latencyRatio  = "latencyP99ToBare"
	restartTime   = "restartSeconds"
	restartWrites = "restartWrites"
	idleWrites    = "idleMinuteWrites"
	idleRequests  = "idleMinuteRequests"
	crowdMemory   = "memoryChangePercent"
)

// figure is one line of the table.
type figure struct {
	key, title string
	decimals   int
	// target is what the figure may be at most; nil means that it has none.
	target *target
}

// target is what a figure may be at most: that of a command, and that of the
// other lives. It holds for a number of agents; 0 means for any.
type target struct {
	command, others float64
	agents          int
}

func atMost(limit float64) *target { return &target{command: limit, others: limit} }

// with limits the target to a number of agents.
func (t target) with(agents int) *target {
	t.agents = agents
	return &t
}

// of is the target of a variant; that of the mixed one is the mean.
func (t target) of(variant string) float64 {
	switch variant {
	case "command":
		return t.command
	case mixed:
		n := float64(len(lives()))
		return (t.command + (n-1)*t.others) / n
	default:
		return t.others
	}
}

// String is the target as the table shows it.
func (t *target) String() string {
	switch {
	case t == nil:
		return ""
	case t.agents > 0:
		return fmt.Sprintf("≤ %g with %d", t.others, t.agents)
	case t.command == t.others:
		return fmt.Sprintf("≤ %g", t.others)
	case math.IsInf(t.command, 1):
		return fmt.Sprintf("≤ %g without pods", t.others)
	default:
		return fmt.Sprintf("≤ %g, command ≤ %g", t.others, t.command)
	}
}

// figures lists the lines of the table in their order. The targets are those
// that docs/performance.md explains.
func figures() []figure {
	return []figure{
		{settleTime, "all settled, s", 1, nil},
		{floorTime, "  floor, s", 1, nil},
		{settleRatio, "  to the floor", 2, atMost(1.25).with(1000)},
		{apiCPU, "API server CPU per agent, ms", 1, nil},
		{floorCPU, "  floor, ms", 1, nil},
		{apiRatio, "  to the floor", 2, atMost(1.15).with(1000)},
		{conflicts, "conflicts", 0, nil},
		{reads, "reads past the cache per agent", 2, &target{command: 1}},
		{operatorCPU, "operator CPU, s", 1, nil},
		{perAgentCPU, "  per agent, ms", 2, nil},
		{growthCPU, "  per agent, to the fewest agents", 2, atMost(1.1).with(5000)},
		{peakMemory, "operator peak memory, MiB", 0, nil},
		{idleMemory, "operator idle memory, MiB", 1, nil},
		{agentMemory, "  per agent beyond the fewest, KiB", 1, &target{command: math.Inf(1), others: 25}},
		{latencyMedian, "create to child, median, ms", 1, nil},
		{latencyP99, "  p99, ms", 1, nil},
		{bareLatency, "  p99 of bare creates, ms", 1, nil},
		{latencyRatio, "  p99 to bare creates", 2, atMost(2)},
		{restartTime, "restart until all are looked at, s", 1, nil},
		{restartWrites, "  writes", 0, atMost(0)},
		{idleWrites, "idle minute: writes", 0, atMost(0)},
		{idleRequests, "  requests", 0, nil},
		{crowdMemory, "memory with 10,000 unrelated objects, %", 1, atMost(5)},
		{writes, "writes per agent", 2, &target{command: 6, others: 3}},
	}
}

// verdict tells whether a value of a batch, as it is shown, meets the figure's
// target; it is empty when there is none.
func (f figure) verdict(b batch, value float64) string {
	switch {
	case f.target == nil || math.IsInf(f.target.of(b.variant), 1):
		return ""
	case f.target.agents > 0 && f.target.agents != b.agents:
		return ""
	case f.shown(value) > f.shown(f.target.of(b.variant)):
		return " **missed**"
	default:
		return " met"
	}
}

func (f figure) shown(value float64) float64 {
	unit := math.Pow10(f.decimals)
	return math.Round(value*unit) / unit
}

// settled adds what the agents of a trial took.
func (c *Column) settled(done work, theirs calls) {
	n := float64(c.Agents)
	own := done.calls.minus(theirs)
	c.add(settleTime, done.settle.Seconds())
	c.add(apiCPU, 1000*done.apiServer.Seconds()/n)
	c.add(writes, own.writes()/n)
	c.add(reads, own.reads()/n)
	c.add(conflicts, own.conflicts)
	c.add(operatorCPU, done.operator.Seconds())
	c.add(perAgentCPU, 1000*done.operator.Seconds()/n)
	c.add(peakMemory, done.memory.peak/mebi)
	for kind, answered := range own.answered {
		c.Calls[string(kind)] = append(c.Calls[string(kind)], answered/n)
	}
}

// compared adds what the floor took, and how much of it the operator takes.
func (c *Column) compared(done, floor work) {
	c.add(floorTime, floor.settle.Seconds())
	c.add(settleRatio, done.settle.Seconds()/floor.settle.Seconds())
	c.add(floorCPU, 1000*floor.apiServer.Seconds()/float64(c.Agents))
	c.add(apiRatio, done.apiServer.Seconds()/floor.apiServer.Seconds())
}

// latency compares the last latency of the operator with that of bare creates.
func (c *Column) latency() {
	last := func(key string) float64 { return c.Figures[key][len(c.Figures[key])-1] }
	c.add(latencyRatio, last(latencyP99)/last(bareLatency))
}

func (c *Column) add(key string, value float64) { c.Figures[key] = append(c.Figures[key], value) }

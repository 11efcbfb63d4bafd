package lifecycle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/beyond10x/loom-operator/internal/lifecycle"
)

// roads drive a LoomAgent from nothing into each state at generation 2, with
// every field filled that can be filled on the way.
var roads = map[State][]Command{
	Pending:   {apply(1), apply(2)},
	Running:   {apply(2), check(2, 0), observe(Available), scheduled(RunSucceeded, end(0, "Completed"))},
	Degraded:  {apply(2), check(2, 0), observe(Unavailable)},
	Completed: {apply(2), check(2, 0), run(RunSucceeded, end(0, "Completed"))},
	Failed:    {apply(2), check(2, 0), run(RunFailed, end(7, "Error"))},
	Refused:   {apply(2), check(2, 1)},
}

func apply(generation int64) Command { return ApplyLoomAgent{Name: agent, Generation: generation} }

func check(generation int64, exitCode int32) Command {
	return RecordCheck{Name: agent, Generation: generation, ExitCode: exitCode, Message: "spec.agent is read", Variant: VariantCommand}
}

func observe(availability Availability) Command {
	return ObserveDeployment{Name: agent, Availability: availability}
}

func run(phase RunPhase, end RunEnd) Command {
	return ObserveRun{Name: agent, Phase: phase, End: end}
}

func scheduled(phase RunPhase, end RunEnd) Command {
	return ObserveScheduledRun{Name: agent, Phase: phase, End: end}
}

// drive takes the road and asserts where it ends.
func drive(t *testing.T, to State) *Record {
	t.Helper()
	var record *Record
	for _, command := range roads[to] {
		record, _ = decide(t, record, command)
	}
	require.Equal(t, to, record.State)
	require.Equal(t, int64(2), record.ObservedGeneration)
	return record
}

// reach says in which states which inputs select an outcome. No states means
// that no record exists.
type reach struct {
	in   []State
	send []Command
}

var all = States()

func allBut(states ...State) []State {
	return slices.DeleteFunc(States(), func(s State) bool { return slices.Contains(states, s) })
}

// conformance has one case per outcome, in the way its document reaches it.
var conformance = map[string]reach{
	"ApplyLoomAgent/created":     {send: []Command{apply(1)}},
	"ApplyLoomAgent/stale":       {in: all, send: []Command{apply(1)}},
	"ApplyLoomAgent/unchanged":   {in: all, send: []Command{apply(2)}},
	"ApplyLoomAgent/respecified": {in: all, send: []Command{apply(3)}},

	"RecordCheck/unknown":      {send: []Command{check(1, 0), check(1, 1)}},
	"RecordCheck/stale":        {in: all, send: []Command{check(1, 0), check(1, 1), check(3, 0), check(3, 1)}},
	"RecordCheck/running":      {in: []State{Pending}, send: []Command{check(2, 0)}},
	"RecordCheck/refused":      {in: []State{Pending}, send: []Command{check(2, 1), check(2, -1), check(2, 2)}},
	"RecordCheck/out-of-order": {in: allBut(Pending), send: []Command{check(2, 0), check(2, 1)}},

	"ObserveDeployment/unknown":        {send: []Command{observe(Available), observe(Unavailable)}},
	"ObserveDeployment/degraded":       {in: []State{Running}, send: []Command{observe(Unavailable)}},
	"ObserveDeployment/still-running":  {in: []State{Running}, send: []Command{observe(Available)}},
	"ObserveDeployment/recovered":      {in: []State{Degraded}, send: []Command{observe(Available)}},
	"ObserveDeployment/still-degraded": {in: []State{Degraded}, send: []Command{observe(Unavailable)}},
	"ObserveDeployment/no-deployment":  {in: allBut(Running, Degraded), send: []Command{observe(Available), observe(Unavailable)}},

	"ObserveRun/unknown":      {send: runs(run)},
	"ObserveRun/still-active": {in: []State{Running}, send: []Command{run(RunActive, RunEnd{}), run(RunActive, end(1, "Error"))}},
	"ObserveRun/completed":    {in: []State{Running}, send: []Command{run(RunSucceeded, RunEnd{}), run(RunSucceeded, end(0, "Completed"))}},
	"ObserveRun/failed":       {in: []State{Running}, send: []Command{run(RunFailed, RunEnd{}), run(RunFailed, end(7, "Error"))}},
	"ObserveRun/finished":     {in: []State{Completed, Failed}, send: runs(run)},
	"ObserveRun/no-run":       {in: []State{Pending, Degraded, Refused}, send: runs(run)},

	"ObserveScheduledRun/unknown":            {send: runs(scheduled)},
	"ObserveScheduledRun/last-run-succeeded": {in: []State{Running}, send: []Command{scheduled(RunSucceeded, RunEnd{}), scheduled(RunSucceeded, end(0, "Completed"))}},
	"ObserveScheduledRun/last-run-failed":    {in: []State{Running}, send: []Command{scheduled(RunFailed, RunEnd{}), scheduled(RunFailed, end(7, "Error"))}},
	"ObserveScheduledRun/run-active":         {in: []State{Running}, send: []Command{scheduled(RunActive, RunEnd{}), scheduled(RunActive, end(1, "Error"))}},
	"ObserveScheduledRun/not-running":        {in: allBut(Running), send: runs(scheduled)},

	"DeleteLoomAgent/unknown": {send: []Command{DeleteLoomAgent{Name: agent}}},
	"DeleteLoomAgent/deleted": {in: all, send: []Command{DeleteLoomAgent{Name: agent}}},
}

func runs(of func(RunPhase, RunEnd) Command) []Command {
	return []Command{of(RunActive, RunEnd{}), of(RunSucceeded, end(0, "Completed")), of(RunFailed, end(7, "Error"))}
}

func TestEveryOutcomeIsReached(t *testing.T) {
	for outcome, c := range conformance {
		t.Run(outcome, func(t *testing.T) {
			for _, command := range c.send {
				if len(c.in) == 0 {
					_, got := decide(t, nil, command)
					assert.Equal(t, outcome, got)
					_, got = decide(t, nil, command)
					assert.Equal(t, outcome, got, "the same question gets the same answer")
				}
				for _, state := range c.in {
					_, got := decide(t, drive(t, state), command)
					assert.Equal(t, outcome, got, "%#v in %s", command, state)
				}
			}
		})
	}
}

func TestTheTableHasThe28OutcomesOfTheSeed(t *testing.T) {
	var declared []string
	for _, rule := range Table() {
		declared = append(declared, rule.Command+"/"+string(rule.Outcome))
		assert.NotEmpty(t, rule.Reach, "%s says how it is reached", rule.Outcome)
	}
	assert.Len(t, declared, 28)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(promises)), declared)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(conformance)), declared)
}

func TestTheTableSaysWhatItDoes(t *testing.T) {
	for _, rule := range Table() {
		outcome := rule.Command + "/" + string(rule.Outcome)
		expected := promises[outcome]
		assert.Equal(t, expected.move, rule.Move, outcome)
		assert.Equal(t, expected.ends, rule.To, outcome)
		assert.Equal(t, expected.event, rule.Event, outcome)
		assert.Equal(t, expected.fails == nil, rule.Error.Name == "", outcome)
		assert.Equal(t, len(conformance[outcome].in) == 0, rule.Absent, outcome)
	}
}

func TestTableReturnsACopy(t *testing.T) {
	for i := range Table() {
		Table()[i].Command = "nothing"
		clear(Table()[i].From)
		clear(Table()[i].Sets)
	}
	assert.NotPanics(t, func() { drive(t, Completed) })
}

func TestMessagesAreSentencesForPeople(t *testing.T) {
	record := &Record{Name: "a", ObservedGeneration: 5, State: Refused}
	cases := map[string]struct {
		record  *Record
		command Command
	}{
		`generation 4 of LoomAgent "a" is not the observed generation 5: read the resource again`: {record, ApplyLoomAgent{"a", 4}},
		`LoomAgent "a" is in a state that does not allow this command: read the resource again`:   {record, ObserveDeployment{"a", Available}},
		`LoomAgent "b" does not exist: apply it first`:                                            {nil, DeleteLoomAgent{"b"}},
		`the command is not one of the six lifecycle commands; pass one of them by value`:         {record, nil},
	}
	for message, c := range cases {
		t.Run(strings.ReplaceAll(message, "/", " "), func(t *testing.T) {
			_, err := Decide(c.record, c.command)
			assert.EqualError(t, err, message)
		})
	}
}

func TestValuesAreSpelledAsOnTheWire(t *testing.T) {
	assert.Equal(t, []State{"Pending", "Running", "Degraded", "Completed", "Failed", "Refused"}, States())
	assert.Equal(t, []Variant{"AgentServe", "Command"}, []Variant{VariantAgentServe, VariantCommand})
	assert.Equal(t, []Availability{"Available", "Unavailable"}, []Availability{Available, Unavailable})
	assert.Equal(t, []RunPhase{"Active", "Succeeded", "Failed"}, []RunPhase{RunActive, RunSucceeded, RunFailed})
}

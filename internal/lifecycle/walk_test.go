package lifecycle_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/beyond10x/loom-operator/internal/lifecycle"
)

type pair struct{ from, to State }

// forbidden are the 19 changes of state that seed loom-resource names as not permitted.
var forbidden = []pair{
	{Completed, Degraded}, {Completed, Failed}, {Completed, Refused}, {Completed, Running},
	{Degraded, Completed}, {Degraded, Failed}, {Degraded, Refused},
	{Failed, Completed}, {Failed, Degraded}, {Failed, Refused}, {Failed, Running},
	{Pending, Completed}, {Pending, Degraded}, {Pending, Failed},
	{Refused, Completed}, {Refused, Degraded}, {Refused, Failed}, {Refused, Running},
	{Running, Refused},
}

func TestMovesAreThoseOfTheSeedAndNoOthers(t *testing.T) {
	expected := []Move{
		{Name: "run", From: Pending, To: Running, By: []string{"RecordCheck/running"}},
		{Name: "refuse", From: Pending, To: Refused, By: []string{"RecordCheck/refused"}},
		{Name: "degrade", From: Running, To: Degraded, By: []string{"ObserveDeployment/degraded"}},
		{Name: "recover", From: Degraded, To: Running, By: []string{"ObserveDeployment/recovered"}},
		{Name: "observe-running", From: Running, To: Running, By: []string{
			"ObserveDeployment/still-running", "ObserveRun/still-active",
			"ObserveScheduledRun/last-run-succeeded", "ObserveScheduledRun/last-run-failed",
		}},
		{Name: "observe-degraded", From: Degraded, To: Degraded, By: []string{"ObserveDeployment/still-degraded"}},
		{Name: "complete", From: Running, To: Completed, By: []string{"ObserveRun/completed"}},
		{Name: "fail", From: Running, To: Failed, By: []string{"ObserveRun/failed"}},
	}
	for _, state := range States() {
		expected = append(expected, Move{Name: "respecify", From: state, To: Pending, By: []string{"ApplyLoomAgent/respecified"}})
	}
	assert.ElementsMatch(t, expected, Moves())
}

func TestThePairsWithoutAMoveAreThe19OfTheSeed(t *testing.T) {
	var without []pair
	for _, from := range States() {
		for _, to := range States() {
			if from != to && !slices.ContainsFunc(Moves(), func(m Move) bool { return m.From == from && m.To == to }) {
				without = append(without, pair{from, to})
			}
		}
	}
	assert.Len(t, without, 19)
	assert.ElementsMatch(t, forbidden, without)
}

// alphabet is a finite set of inputs: each value of every enum and one unknown
// one, earlier, equal and later generations, ends with all facts and with none.
func alphabet() []Command {
	commands := []Command{DeleteLoomAgent{Name: agent}}
	for generation := range int64(4) {
		commands = append(commands, apply(generation))
		for exitCode := range int32(2) {
			for _, variant := range []Variant{VariantAgentServe, VariantCommand} {
				commands = append(commands, RecordCheck{agent, generation, exitCode, "message", variant})
			}
		}
	}
	for _, availability := range []Availability{Available, Unavailable, "Maybe"} {
		commands = append(commands, observe(availability))
	}
	for _, phase := range []RunPhase{RunActive, RunSucceeded, RunFailed, "Lost"} {
		for _, end := range []RunEnd{{}, end(0, "Completed"), end(7, "Error")} {
			commands = append(commands, run(phase, end), scheduled(phase, end))
		}
	}
	return commands
}

// step sends one command and asserts what holds for every step of every walk.
func step(t *testing.T, before *Record, command Command) (*Record, string) {
	t.Helper()
	after, outcome := decide(t, before, command)
	if before == nil || after == nil {
		return after, outcome
	}
	require.NotContains(t, forbidden, pair{before.State, after.State}, "%s makes a forbidden move", outcome)
	require.GreaterOrEqual(t, after.ObservedGeneration, before.ObservedGeneration, "%s goes back a generation", outcome)
	var stale bool
	switch command.(type) {
	case ApplyLoomAgent:
		stale = generationOf(command) < before.ObservedGeneration
	case RecordCheck:
		stale = generationOf(command) != before.ObservedGeneration
	}
	if stale {
		require.Equal(t, before, after, "a stale generation changed something")
	}
	return after, outcome
}

// TestEverySequenceOfCommands visits every record that any sequence of the
// alphabet can lead to, and sends every command to each of them. It goes on
// until no new record turns up, so it covers sequences of every length.
func TestEverySequenceOfCommands(t *testing.T) {
	commands := alphabet()
	seen := map[string]bool{key(t, nil): true}
	outcomes := map[string]bool{}
	depth, steps := 0, 0
	for frontier := []*Record{nil}; len(frontier) > 0; depth++ {
		var next []*Record
		for _, record := range frontier {
			for _, command := range commands {
				after, outcome := step(t, record, command)
				outcomes[outcome] = true
				steps++
				if k := key(t, after); !seen[k] {
					seen[k] = true
					next = append(next, after)
				}
			}
		}
		frontier = next
	}
	t.Logf("%d commands, %d records, depth %d, %d steps", len(commands), len(seen), depth, steps)
	assert.Len(t, outcomes, 28)
}

func key(t *testing.T, record *Record) string {
	t.Helper()
	text, err := json.Marshal(record)
	require.NoError(t, err)
	return string(text)
}

// TestRandomWalks takes longer walks over many generations, with the same seed
// each time so that a failure repeats.
func TestRandomWalks(t *testing.T) {
	const walks, length = 2000, 60
	random := rand.New(rand.NewPCG(1, 2))
	states := map[State]int{}
	for range walks {
		var record *Record
		for range length {
			record, _ = step(t, record, randomCommand(random, record))
			if record != nil {
				states[record.State]++
			}
		}
	}
	t.Logf("%d walks of %d commands, states %v", walks, length, states)
	assert.Len(t, states, len(States()))
}

// randomCommand mostly speaks of a generation near the observed one, so that
// walks get somewhere.
func randomCommand(random *rand.Rand, record *Record) Command {
	var generation int64
	if record != nil {
		generation = record.ObservedGeneration
	}
	near := generation + []int64{0, 0, 0, 0, 1, -1}[random.IntN(6)]
	end := []RunEnd{{}, end(random.Int32(), "Error")}[random.IntN(2)]
	phase := []RunPhase{RunActive, RunSucceeded, RunFailed, "Lost"}[random.IntN(4)]
	switch n := random.IntN(20); {
	case n == 0:
		return DeleteLoomAgent{Name: agent}
	case n < 4:
		return apply(near)
	case n < 8:
		return check(near, random.Int32N(2))
	case n < 13:
		return observe([]Availability{Available, Unavailable}[random.IntN(2)])
	case n < 15:
		return run(phase, end)
	default:
		return scheduled(phase, end)
	}
}

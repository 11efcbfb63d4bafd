package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	. "github.com/beyond10x/loom-operator/internal/lifecycle"
)

// FuzzDecide builds a record and a command from loose values. Whatever they
// are, there is an answer: always the same, one of the command's outcomes, and
// never an event beside an error.
func FuzzDecide(f *testing.F) {
	for kind := range uint8(8) {
		f.Add(kind, uint16(0), agent, agent, "Running", int64(2), int64(2), int32(0), "Succeeded", "Available")
		f.Add(kind, uint16(0xffff), agent, agent, "Pending", int64(2), int64(3), int32(1), "Failed", "Unavailable")
	}
	f.Fuzz(func(t *testing.T, kind uint8, has uint16, recordName, name, state string, observed, generation int64, exitCode int32, phase, text string) {
		end := RunEnd{ExitCode: some(has, 0, exitCode), Reason: some(has, 1, text)}
		record := some(has, 2, Record{
			Name: recordName, ObservedGeneration: observed, State: State(state), Variant: Variant(text),
			Check: some(has, 3, Check{exitCode, text}), Deployment: some(has, 4, Deployment{Availability(text)}),
			Run: some(has, 5, end), LastRun: some(has, 6, LastRun{RunPhase(phase), end}),
		})
		command := []Command{
			ApplyLoomAgent{name, generation}, RecordCheck{name, generation, exitCode, text, Variant(text)},
			ObserveDeployment{name, Availability(text)}, ObserveRun{name, RunPhase(phase), end},
			ObserveScheduledRun{name, RunPhase(phase), end}, DeleteLoomAgent{name}, nil, &DeleteLoomAgent{name},
		}[kind%8]

		before := deepCopy(record)
		decision, err := Decide(record, command)
		again, errAgain := Decide(record, command)
		assert.Equal(t, before, record, "the record was written to")
		assert.Equal(t, decision, again)
		assert.Equal(t, err, errAgain)
		if command == nil || nameOf(command) == "none" {
			assert.ErrorIs(t, err, ErrUnknownCommand)
			return
		}
		assert.Contains(t, promises, nameOf(command)+"/"+string(decision.Outcome))
		if err != nil {
			assert.NotEmpty(t, err.Error())
			assert.Empty(t, decision.Events)
		}
		if decision.Record != nil {
			assert.Equal(t, name, decision.Record.Name)
		}
	})
}

// some returns the value when the given bit of has is set.
func some[T any](has uint16, bit int, value T) *T {
	if has>>bit&1 == 0 {
		return nil
	}
	return &value
}

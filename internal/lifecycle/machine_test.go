package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/beyond10x/loom-operator/internal/lifecycle"
)

// agent is the name all records and commands of these tests carry.
const agent = "reviewer"

// promise is what seed loom-resource says about one outcome. The tests keep
// their own copy, so that a change of the table cannot change what is expected.
type promise struct {
	move  string
	event EventType
	fails any // a pointer to the error's type; nil when the command is answered
	// sets writes what the outcome sets into a record; nil sets nothing.
	sets func(*Record, Command)
	// ends is the state afterwards; empty when it stays.
	ends State
}

// promises has the 28 outcomes, as Command/outcome.
var promises = map[string]promise{
	"ApplyLoomAgent/created":     {ends: Pending, event: LoomAgentApplied, sets: setsGeneration},
	"ApplyLoomAgent/stale":       {fails: new(*StaleGenerationError)},
	"ApplyLoomAgent/unchanged":   {},
	"ApplyLoomAgent/respecified": {move: "respecify", ends: Pending, event: LoomAgentApplied, sets: setsGenerationAndClears},

	"RecordCheck/unknown":      {fails: new(*NotFoundError)},
	"RecordCheck/stale":        {fails: new(*StaleGenerationError)},
	"RecordCheck/running":      {move: "run", ends: Running, event: LoomAgentRunning, sets: setsCheckAndVariant},
	"RecordCheck/refused":      {move: "refuse", ends: Refused, event: LoomAgentRefused, sets: setsCheckAndVariant},
	"RecordCheck/out-of-order": {fails: new(*StateConflictError)},

	"ObserveDeployment/unknown":        {fails: new(*NotFoundError)},
	"ObserveDeployment/degraded":       {move: "degrade", ends: Degraded, event: LoomAgentDegraded, sets: setsDeployment},
	"ObserveDeployment/still-running":  {move: "observe-running", ends: Running, event: LoomAgentObserved, sets: setsDeployment},
	"ObserveDeployment/recovered":      {move: "recover", ends: Running, event: LoomAgentRecovered, sets: setsDeployment},
	"ObserveDeployment/still-degraded": {move: "observe-degraded", ends: Degraded, event: LoomAgentObserved, sets: setsDeployment},
	"ObserveDeployment/no-deployment":  {fails: new(*StateConflictError)},

	"ObserveRun/unknown":      {fails: new(*NotFoundError)},
	"ObserveRun/still-active": {move: "observe-running", ends: Running, event: LoomAgentRunObserved},
	"ObserveRun/completed":    {move: "complete", ends: Completed, event: LoomAgentCompleted, sets: setsRun},
	"ObserveRun/failed":       {move: "fail", ends: Failed, event: LoomAgentFailed, sets: setsRun},
	"ObserveRun/finished":     {},
	"ObserveRun/no-run":       {fails: new(*StateConflictError)},

	"ObserveScheduledRun/unknown":            {fails: new(*NotFoundError)},
	"ObserveScheduledRun/last-run-succeeded": {move: "observe-running", ends: Running, event: LoomAgentLastRunObserved, sets: setsLastRun},
	"ObserveScheduledRun/last-run-failed":    {move: "observe-running", ends: Running, event: LoomAgentLastRunObserved, sets: setsLastRun},
	"ObserveScheduledRun/run-active":         {},
	"ObserveScheduledRun/not-running":        {fails: new(*StateConflictError)},

	"DeleteLoomAgent/unknown": {fails: new(*NotFoundError)},
	"DeleteLoomAgent/deleted": {event: LoomAgentDeleted},
}

func setsGeneration(r *Record, c Command) { r.ObservedGeneration = c.(ApplyLoomAgent).Generation }

func setsGenerationAndClears(r *Record, c Command) {
	setsGeneration(r, c)
	r.Check, r.Deployment, r.Variant, r.Run, r.LastRun = nil, nil, "", nil, nil
}

func setsCheckAndVariant(r *Record, c Command) {
	check := c.(RecordCheck)
	r.Check, r.Variant = &Check{ExitCode: check.ExitCode, Message: check.Message}, check.Variant
}

func setsDeployment(r *Record, c Command) {
	r.Deployment = &Deployment{Availability: c.(ObserveDeployment).Availability}
}

func setsRun(r *Record, c Command) { r.Run = new(c.(ObserveRun).End) }

func setsLastRun(r *Record, c Command) {
	run := c.(ObserveScheduledRun)
	r.LastRun = &LastRun{Phase: run.Phase, RunEnd: run.End}
}

// decide answers the command, asserts that the answer keeps the promise of its
// outcome, and returns the record and the outcome as Command/outcome.
func decide(t *testing.T, before *Record, command Command) (*Record, string) {
	t.Helper()
	snapshot := deepCopy(before)
	decision, err := Decide(before, command)
	outcome := nameOf(command) + "/" + string(decision.Outcome)
	expected, declared := promises[outcome]
	require.True(t, declared, "%s is no outcome of the seed", outcome)

	assert.Equal(t, snapshot, before, "%s wrote to the record it was given", outcome)
	assert.Equal(t, expected.after(before, command), decision.Record, "the record after %s", outcome)
	assert.Equal(t, expected.events(command), decision.Events, "the events of %s", outcome)
	expected.assertError(t, before, command, err)
	if before != nil && decision.Record != nil {
		assert.NotSame(t, before, decision.Record, "%s returned the record it was given", outcome)
	}
	return decision.Record, outcome
}

func (p promise) after(before *Record, command Command) *Record {
	switch {
	case p.event == LoomAgentDeleted:
		return nil
	case p.ends == "":
		return deepCopy(before)
	}
	next := deepCopy(before)
	if next == nil {
		next = &Record{Name: agent}
	}
	next.State = p.ends
	if p.sets != nil {
		p.sets(next, command)
	}
	return next
}

func (p promise) events(command Command) []Event {
	if p.event == "" {
		return nil
	}
	var news Record
	if p.sets != nil {
		p.sets(&news, command)
	}
	return []Event{{
		Type: p.event, Name: agent, Generation: news.ObservedGeneration, Check: news.Check,
		Deployment: news.Deployment, Variant: news.Variant, Run: news.Run, LastRun: news.LastRun,
	}}
}

func (p promise) assertError(t *testing.T, before *Record, command Command, err error) {
	t.Helper()
	if p.fails == nil {
		assert.NoError(t, err)
		return
	}
	require.ErrorAs(t, err, p.fails)
	switch err := err.(type) {
	case *NotFoundError:
		assert.Equal(t, &NotFoundError{Name: agent}, err)
	case *StateConflictError:
		assert.Equal(t, &StateConflictError{Name: agent}, err)
	case *StaleGenerationError:
		want := &StaleGenerationError{Name: agent, ObservedGeneration: before.ObservedGeneration, Generation: generationOf(command)}
		assert.Equal(t, want, err)
	}
}

func nameOf(command Command) string {
	switch command.(type) {
	case ApplyLoomAgent:
		return "ApplyLoomAgent"
	case RecordCheck:
		return "RecordCheck"
	case ObserveDeployment:
		return "ObserveDeployment"
	case ObserveRun:
		return "ObserveRun"
	case ObserveScheduledRun:
		return "ObserveScheduledRun"
	case DeleteLoomAgent:
		return "DeleteLoomAgent"
	default:
		return "none"
	}
}

func generationOf(command Command) int64 {
	switch c := command.(type) {
	case ApplyLoomAgent:
		return c.Generation
	case RecordCheck:
		return c.Generation
	default:
		return 0
	}
}

func deepCopy(r *Record) *Record {
	if r == nil {
		return nil
	}
	next := *r
	next.Check, next.Deployment = copied(r.Check), copied(r.Deployment)
	if r.Run != nil {
		next.Run = &RunEnd{copied(r.Run.ExitCode), copied(r.Run.FinishedAt), copied(r.Run.Reason)}
	}
	if r.LastRun != nil {
		end := RunEnd{copied(r.LastRun.ExitCode), copied(r.LastRun.FinishedAt), copied(r.LastRun.Reason)}
		next.LastRun = &LastRun{Phase: r.LastRun.Phase, RunEnd: end}
	}
	return &next
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func end(exitCode int32, reason string) RunEnd {
	return RunEnd{ExitCode: &exitCode, FinishedAt: new(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)), Reason: &reason}
}

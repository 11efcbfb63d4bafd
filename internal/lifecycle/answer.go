package lifecycle

import (
	"errors"
	"fmt"
)

// Outcome is the branch a command took. Only together with its command does it
// name one of the 28 rules of the table: several commands share stale and unknown.
type Outcome string

// The outcomes, by the command that first has them in the table.
const (
	OutcomeUnknown Outcome = "unknown" // every command except ApplyLoomAgent
	OutcomeStale   Outcome = "stale"   // ApplyLoomAgent and RecordCheck

	OutcomeCreated     Outcome = "created"
	OutcomeUnchanged   Outcome = "unchanged"
	OutcomeRespecified Outcome = "respecified"

	OutcomeRunning    Outcome = "running"
	OutcomeRefused    Outcome = "refused"
	OutcomeOutOfOrder Outcome = "out-of-order"

	OutcomeDegraded      Outcome = "degraded"
	OutcomeStillRunning  Outcome = "still-running"
	OutcomeRecovered     Outcome = "recovered"
	OutcomeStillDegraded Outcome = "still-degraded"
	OutcomeNoDeployment  Outcome = "no-deployment"

	OutcomeStillActive Outcome = "still-active"
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"
	OutcomeFinished    Outcome = "finished"
	OutcomeNoRun       Outcome = "no-run"

	OutcomeLastRunSucceeded Outcome = "last-run-succeeded"
	OutcomeLastRunFailed    Outcome = "last-run-failed"
	OutcomeRunActive        Outcome = "run-active"
	OutcomeNotRunning       Outcome = "not-running"

	OutcomeDeleted Outcome = "deleted"
)

// EventType names what an event reports.
type EventType string

// The events of the lifecycle.
const (
	LoomAgentApplied         EventType = "LoomAgentApplied"
	LoomAgentRunning         EventType = "LoomAgentRunning"
	LoomAgentRefused         EventType = "LoomAgentRefused"
	LoomAgentDegraded        EventType = "LoomAgentDegraded"
	LoomAgentRecovered       EventType = "LoomAgentRecovered"
	LoomAgentObserved        EventType = "LoomAgentObserved"
	LoomAgentRunObserved     EventType = "LoomAgentRunObserved"
	LoomAgentCompleted       EventType = "LoomAgentCompleted"
	LoomAgentFailed          EventType = "LoomAgentFailed"
	LoomAgentLastRunObserved EventType = "LoomAgentLastRunObserved"
	LoomAgentDeleted         EventType = "LoomAgentDeleted"
)

// Event reports one outcome. Beside the name it carries what the outcome set;
// everything else is zero.
type Event struct {
	Type       EventType
	Name       string
	Generation int64
	Check      *Check
	Deployment *Deployment
	Variant    Variant
	Run        *RunEnd
	LastRun    *LastRun
}

// Decision is the answer to a command.
type Decision struct {
	Outcome Outcome
	// Record is the record as it is afterwards; nil when none exists.
	Record *Record
	// Events is what happened, at most one event per command.
	Events []Event
}

// ErrUnknownCommand is a mistake in the calling program: the command is nil, a
// pointer, or a type that is not one of the six.
var ErrUnknownCommand = errors.New("the command is not one of the six lifecycle commands; pass one of them by value")

// StaleGenerationError says that a command speaks of a generation other than
// the one the record has observed.
type StaleGenerationError struct {
	Name               string
	Generation         int64
	ObservedGeneration int64
}

func (e *StaleGenerationError) Error() string {
	return fmt.Sprintf("generation %d of LoomAgent %q is not the observed generation %d: read the resource again",
		e.Generation, e.Name, e.ObservedGeneration)
}

// StateConflictError says that the state of the record has no answer to the command.
type StateConflictError struct{ Name string }

func (e *StateConflictError) Error() string {
	return fmt.Sprintf("LoomAgent %q is in a state that does not allow this command: read the resource again", e.Name)
}

// NotFoundError says that no record carries the name.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("LoomAgent %q does not exist: apply it first", e.Name)
}

// Package lifecycle is the LoomAgent state machine (seed loom-resource).
//
// [Table] declares every outcome of every command once. [Decide] follows the
// table, [Moves] reads the state diagram off it, and docs/lifecycle.md is
// printed from it. The package is pure: no clock, no I/O, no Kubernetes.
package lifecycle

//go:generate go run ./gen ../../docs/lifecycle.md

import "time"

// State is where a LoomAgent rests in its lifecycle.
type State string

// The six states. A LoomAgent is created in Pending and none of them is final.
const (
	Pending   State = "Pending"
	Running   State = "Running"
	Degraded  State = "Degraded"
	Completed State = "Completed"
	Failed    State = "Failed"
	Refused   State = "Refused"
)

// States lists the six states, Pending first.
func States() []State {
	return []State{Pending, Running, Degraded, Completed, Failed, Refused}
}

// Variant says what kind of agent the examined generation describes.
type Variant string

// The two variants. The zero Variant means that no check has named one yet.
const (
	VariantAgentServe Variant = "AgentServe"
	VariantCommand    Variant = "Command"
)

// Availability is what the child Deployment was last seen to be.
type Availability string

// The two availabilities.
const (
	Available   Availability = "Available"
	Unavailable Availability = "Unavailable"
)

// RunPhase is how far a run of the child Job has come.
type RunPhase string

// The three phases of a run.
const (
	RunActive    RunPhase = "Active"
	RunSucceeded RunPhase = "Succeeded"
	RunFailed    RunPhase = "Failed"
)

// Check is the answer of the spec check: exit code 0 accepts, any other refuses.
type Check struct {
	ExitCode int32
	Message  string
}

// Deployment is what was last observed of the child Deployment.
type Deployment struct {
	Availability Availability
}

// RunEnd is how a run ended. A fact nobody could learn is nil.
type RunEnd struct {
	ExitCode   *int32
	FinishedAt *time.Time
	Reason     *string
}

// LastRun is the end of the most recent finished run of a schedule.
type LastRun struct {
	Phase RunPhase
	RunEnd
}

// Record is what is known of one LoomAgent. Its name identifies it. The
// conditions of the resource are derived by the controllers and not part of it.
type Record struct {
	Name string
	// ObservedGeneration is the generation all other fields speak of.
	ObservedGeneration int64
	State              State
	Check              *Check
	Deployment         *Deployment
	// Variant is empty until a check has named it.
	Variant Variant
	Run     *RunEnd
	LastRun *LastRun
}

// clone returns a record that shares no memory with r; nil stays nil.
func (r *Record) clone() *Record {
	if r == nil {
		return nil
	}
	next := *r
	next.Check = clonePtr(r.Check)
	next.Deployment = clonePtr(r.Deployment)
	if r.Run != nil {
		next.Run = new(r.Run.clone())
	}
	if r.LastRun != nil {
		next.LastRun = &LastRun{Phase: r.LastRun.Phase, RunEnd: r.LastRun.clone()}
	}
	return &next
}

func (e RunEnd) clone() RunEnd {
	return RunEnd{
		ExitCode:   clonePtr(e.ExitCode),
		FinishedAt: clonePtr(e.FinishedAt),
		Reason:     clonePtr(e.Reason),
	}
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

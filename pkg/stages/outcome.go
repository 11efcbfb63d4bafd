package stages

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// DefaultWait is the delay of a [Wait] that names none.
const DefaultWait = 30 * time.Second

// Wait says that the work cannot go on yet. It is pending, not failure: the active condition becomes False with the
// reason and message, and another pass runs after the delay, or sooner when a watch reports a change. A delay of zero
// means [DefaultWait]; a negative one is a failure.
func Wait(reason, message string, after time.Duration) error {
	switch {
	case after < 0:
		return Fail("InvalidWait", "The controller asked to wait for a negative time; this is a bug in the controller.", errors.New("wait delay must be positive, got "+after.String()))
	case after == 0:
		after = DefaultWait
	}
	return &verdict{kind: Waiting, reason: reason, message: message, after: after}
}

// Stop is a settled negative answer of the domain, such as a refused document. The active condition becomes False with
// the reason and message. It is not a failure of the controller: nothing is logged as an error, and no retry is
// scheduled until new input or a resync.
func Stop(reason, message string) error {
	return &verdict{kind: Stopped, reason: reason, message: message}
}

// Fail is an ordinary failure whose reason and message users see, while err goes to the log only. It is retried, unless
// err is terminal.
func Fail(reason, message string, err error) error {
	return &verdict{kind: Failed, reason: reason, message: message, err: err}
}

// Terminal marks err as a failure that a retry cannot cure: it is reported, and not retried until new input or a
// resync. It is controller-runtime's own terminal error.
func Terminal(err error) error {
	return reconcile.TerminalError(err)
}

// IsVerdict tells whether err is or wraps a [Wait] or a [Stop]: an answer of the domain, not a failure.
func IsVerdict(err error) bool {
	v, ok := errors.AsType[*verdict](err)
	return ok && v.kind != Failed
}

// Kind tells how a pass ended.
type Kind string

// The ways in which a pass ends.
const (
	Succeeded Kind = "Succeeded"
	Waiting   Kind = "Waiting"
	Stopped   Kind = "Stopped"
	Failed    Kind = "Failed"
	// FailedTerminally is a failure that is not retried until new input or a resync.
	FailedTerminally Kind = "FailedTerminally"
)

// Outcome is how a pass ended, in the words that the active condition and Ready carry.
type Outcome struct {
	Kind Kind
	// Stage is the name of the stage that ended the pass; empty after success and without stages.
	Stage string
	// Reason and Message are never empty.
	Reason, Message string
	// Err is what the handler returned; nil after success.
	Err error
	// After is the delay of a wait.
	After time.Duration
}

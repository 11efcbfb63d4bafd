package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// DefaultWait is the delay of a [Wait] that names none.
const DefaultWait = 30 * time.Second

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
	// Reason and Message are never empty when a pass has ended.
	Reason, Message string
	// Err is what the handler returned; nil after success.
	Err error
	// After is the delay until the next pass; zero when only new input, a resync or the back-off brings one.
	After time.Duration
}

func (o Outcome) failed() bool { return o.Kind == Failed || o.Kind == FailedTerminally }

// answer is what [Wait], [Stop] and [Fail] return: an outcome as an error, which is found through wrapping.
type answer struct{ Outcome }

func (a answer) Error() string {
	text := fmt.Sprintf("%s: %s: %s", a.Kind, a.Reason, a.Message)
	if a.Err != nil {
		text += ": " + a.Err.Error()
	}
	return text
}

func (a answer) Unwrap() error { return a.Err }

// Wait says that the work cannot go on yet. It is pending, not failure: the active condition becomes False with the
// reason and message, and another pass runs after the delay, or sooner when a watch reports a change. A delay of zero
// means [DefaultWait]; a negative one is a failure.
func Wait(reason, message string, after time.Duration) error {
	if after < 0 {
		return Fail("InvalidWait", "The controller asked to wait for a negative time; this is a bug in the controller.", fmt.Errorf("wait for %s", after))
	}
	return answer{Outcome{Kind: Waiting, Reason: reason, Message: message, After: cmp.Or(after, DefaultWait)}}
}

// Stop is a settled negative answer of the domain, such as a refused document. The active condition becomes False with
// the reason and message. It is not a failure of the controller: nothing is logged as an error, and no retry is
// scheduled until new input or a resync.
func Stop(reason, message string) error {
	return answer{Outcome{Kind: Stopped, Reason: reason, Message: message}}
}

// Fail is an ordinary failure whose reason and message users see, while err goes to the log only. It is retried, unless
// err is terminal.
func Fail(reason, message string, err error) error {
	return answer{Outcome{Kind: Failed, Reason: reason, Message: message, Err: err}}
}

// Terminal marks err as a failure that a retry cannot cure: it is reported, and not retried until new input or a
// resync. It is controller-runtime's own terminal error.
func Terminal(err error) error { return reconcile.TerminalError(err) }

// IsVerdict tells whether err is or wraps a [Wait] or a [Stop]: an answer of the domain, not a failure.
func IsVerdict(err error) bool {
	a, ok := errors.AsType[answer](err)
	return ok && a.Kind != Failed
}

// errPanic is what a handler that panicked has returned.
var errPanic = errors.New("panic")

// stale tells whether err says that the pass worked on an old version of an object. Two field managers that claim one
// field are a conflict too, but one that no new pass resolves, and so is one that the handler calls terminal.
func stale(err error) bool {
	_, worded := errors.AsType[answer](err)
	return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) && !worded && !errors.Is(err, reconcile.TerminalError(nil))
}

// outcome puts what the handlers returned into the words that users see. An error without words of its own shows the
// stage and the error's class only, since its text may hold secrets.
func (p *Pass[T]) outcome(err error) Outcome {
	if err == nil {
		o := p.reached[len(p.reached)-1]
		o.After = cmp.Or(p.after, p.controller.every)
		return o
	}
	o := Outcome{Kind: Failed, Reason: class(err)}
	said, worded := errors.AsType[answer](err)
	if worded {
		o = said.Outcome
	}
	if o.Kind == Stopped {
		o.After = p.after
	}
	o.Stage, o.Err = p.active(), err
	if o.Kind == Failed && errors.Is(err, reconcile.TerminalError(nil)) {
		o.Kind = FailedTerminally
	}
	o.Reason = cleanReason(o.Reason, string(o.Kind))
	o.Message = cmp.Or(o.Message, describe(o))
	if !worded {
		o.Reason = cmp.Or(p.controller.failureReason, o.Reason)
	}
	return o
}

// describe are the words of an outcome that came without.
func describe(o Outcome) string {
	who, next := "The controller's handler", "It is tried again with growing delays."
	if o.Stage != "" {
		who = fmt.Sprintf("Stage %q", o.Stage)
	}
	if !o.failed() {
		return fmt.Sprintf("%s is %s.", who, strings.ToLower(string(o.Kind)))
	}
	if o.Kind == FailedTerminally {
		next = "It is not tried again until the object or one of its children changes."
	}
	return fmt.Sprintf("%s failed (%s). The controller's log has the details. %s", who, o.Reason, next)
}

// class names the kind of an error without its text: Panic, Timeout, the API server's reason, Unreachable for a server
// that gave no answer, or the first exported error type in the chain.
func class(err error) string {
	_, silent := errors.AsType[*url.Error](err)
	switch reason := apierrors.ReasonForError(err); {
	case errors.Is(err, errPanic):
		return "Panic"
	case errors.Is(err, context.DeadlineExceeded):
		return "Timeout"
	case reason != metav1.StatusReasonUnknown:
		return string(reason)
	case silent:
		return "Unreachable"
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if _, name, _ := strings.Cut(fmt.Sprintf("%T", err), "."); token.IsExported(name) {
			return name
		}
	}
	return "Error"
}

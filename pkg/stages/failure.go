package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// verdict is an outcome in the words of the domain. It travels as an error and is found through wrapping.
type verdict struct {
	kind            Kind
	reason, message string
	err             error
	after           time.Duration
}

func (v *verdict) Error() string {
	text := fmt.Sprintf("%s: %s: %s", strings.ToLower(string(v.kind)), v.reason, v.message)
	if v.err != nil {
		text += ": " + v.err.Error()
	}
	return text
}

func (v *verdict) Unwrap() error { return v.err }

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

type timeoutError struct {
	after time.Duration
	err   error
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("not finished after %s: %v", e.after, e.err)
}

func (e *timeoutError) Unwrap() error { return e.err }

// worded tells whether err carries words for users.
func worded(err error) bool {
	_, ok := errors.AsType[*verdict](err)
	return ok
}

// stale tells whether err says that the pass worked on an old version of an object. Two field managers that claim one
// field are a conflict too, but one that no new pass resolves.
func stale(err error) bool {
	return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) && !worded(err)
}

// outcome puts what the handlers returned into the words that users see. An error without words of its own shows the
// stage and the error's class only, since its text may hold secrets.
func (p *Pass[T]) outcome(err error) Outcome {
	if err == nil {
		return p.success()
	}
	o := Outcome{Kind: Failed, Stage: p.stage(), Err: err}
	terminal := errors.Is(err, reconcile.TerminalError(nil))
	if v, ok := errors.AsType[*verdict](err); ok {
		o.Kind, o.Reason, o.Message, o.After = v.kind, v.reason, v.message, v.after
	} else if refused, ok := errors.AsType[*NotOwnedError](err); ok {
		o.Reason, o.Message = "NotOwned", refused.Error()
	} else {
		o.Reason = class(err)
	}
	if o.Kind == Failed && terminal {
		o.Kind = FailedTerminally
	}
	o.Reason = cleanReason(o.Reason, string(o.Kind))
	if o.Message == "" {
		o.Message = p.describe(o)
		if !worded(err) {
			o.Reason = cmp.Or(p.controller.config.failureReason, o.Reason)
		}
	}
	return o
}

// success takes the words of the last stage, unless the handler around the stages said more.
func (p *Pass[T]) success() Outcome {
	last := p.reached[len(p.reached)-1]
	if last == (words{}) && len(p.steps) > 0 {
		last = p.reached[len(p.steps)-1]
	}
	return Outcome{Kind: Succeeded, Reason: cleanReason(last.reason, string(Succeeded)), Message: cmp.Or(last.message, "The object is reconciled.")}
}

func (p *Pass[T]) describe(o Outcome) string {
	who := "The controller's handler"
	if o.Stage != "" {
		who = fmt.Sprintf("Stage %q", o.Stage)
	}
	switch o.Kind {
	case Waiting:
		return who + " is waiting."
	case Stopped:
		return who + " has stopped until the object changes."
	case FailedTerminally:
		return fmt.Sprintf("%s failed (%s). The controller's log has the details. It is not tried again until the object or one of its children changes.", who, o.Reason)
	default:
		return fmt.Sprintf("%s failed (%s). The controller's log has the details. It is tried again with growing delays.", who, o.Reason)
	}
}

func (o Outcome) failed() bool { return o.Kind == Failed || o.Kind == FailedTerminally }

// class names the kind of an error without its text: Panic, Timeout, the API server's reason, or the first exported
// error type in the chain.
func class(err error) string {
	switch {
	case errors.As(err, new(*panicError)):
		return "Panic"
	case errors.As(err, new(*timeoutError)), errors.Is(err, context.DeadlineExceeded):
		return "Timeout"
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		typ := reflect.TypeOf(err)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if name := typ.Name(); name != "" && name[0] >= 'A' && name[0] <= 'Z' {
			return name
		}
	}
	return "Error"
}

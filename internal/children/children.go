// Package children writes and removes the objects that a LoomAgent owns, and
// puts what goes wrong in words that its status can carry.
package children

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/apply"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Ensure makes the child exist as given (stages.Pass.Ensure). A child that is
// nil is none. The error that it returns carries the reason and message for
// the status.
func Ensure[C interface {
	comparable
	client.Object
}](ctx context.Context, pass *journal.Pass, child C) error {
	var none C
	if child == none {
		return nil
	}
	kind, name := child.GetObjectKind().GroupVersionKind().Kind, child.GetName()
	return Explain(pass.Ensure(ctx, child), "write", kind, name)
}

// Explain turns an error of the API server about a child into an outcome of
// the pass. A conflict stays what it is, since it restarts the pass.
func Explain(err error, verb, kind, name string) error {
	var taken *apply.NotOwnedError
	switch {
	case err == nil, apierrors.IsConflict(err), stages.IsVerdict(err):
		return err
	case errors.As(err, &taken):
		return Taken(taken.Kind, taken.Name, taken.Owner)
	case apierrors.IsForbidden(err), deniedByPolicy(err):
		return stages.Fail(v1alpha1.ReasonChildForbidden, fmt.Sprintf("The API server does not let the operator %s %s %q: %s. It is tried again; change the role, quota or policy that the text names.", verb, kind, name, ServerText(err)), err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return stages.Fail(v1alpha1.ReasonChildInvalid, fmt.Sprintf("The API server refuses %s %q as invalid: %s. Correct the field of the document that it comes from.", kind, name, ServerText(err)), stages.Terminal(err))
	default:
		return stages.Fail(v1alpha1.ReasonReconcileError, fmt.Sprintf("The operator could not %s %s %q: %s. It is tried again with growing delays.", verb, kind, name, ServerText(err)), err)
	}
}

// deniedByPolicy tells a policy that denies an object from an object that is
// invalid. A ValidatingAdmissionPolicy answers as if it were, and a webhook with
// whatever code it likes: without one the API server makes it a bad request.
func deniedByPolicy(err error) bool {
	text := ServerText(err)
	webhook := strings.HasPrefix(text, `admission webhook "`) && strings.Contains(text, "denied the request")
	return webhook || apierrors.IsInvalid(err) && strings.Contains(text, "ValidatingAdmissionPolicy")
}

// Taken is the outcome of finding somebody else's object under a child's name.
// Nothing tells when that object goes, so the agent looks again by itself.
func Taken(kind, name, owner string) error {
	whose := "nobody controls it"
	if owner != "" {
		whose = "it is controlled by " + owner
	}
	return stages.Wait(v1alpha1.ReasonNameTaken, fmt.Sprintf("%s %q exists already and %s. It is left alone; delete or rename it, and the agent goes on without an edit.", kind, name, whose), 0)
}

// ServerText is the API server's own message, which names the resource, the
// verb and the namespace, without a period at its end; for another error it is
// a word for what went wrong.
func ServerText(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return strings.TrimRight(status.Status().Message, ".\n ")
	}
	return "the API server gave no answer"
}

// Controller describes who controls an object; empty when nobody does.
func Controller(obj client.Object) string {
	owner := metav1.GetControllerOf(obj)
	if owner == nil {
		return ""
	}
	return fmt.Sprintf("%s %q (UID %s)", owner.Kind, owner.Name, owner.UID)
}

// Present returns the children that are not nil.
func Present(children ...client.Object) []client.Object {
	return slices.DeleteFunc(children, func(child client.Object) bool { return reflect.ValueOf(child).IsNil() })
}

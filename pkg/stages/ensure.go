package stages

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/apply"
)

// Ensure makes the child exist with the given values, as [apply.Applier.Ensure] promises, with the primary as its owner.
// An object that the primary does not control is never touched; the error then wraps an [apply.NotOwnedError]. While the
// child is being deleted the error is a [Wait].
func (p *Pass[T]) Ensure(ctx context.Context, child client.Object) error {
	writes, err := p.controller.children.Ensure(ctx, p.base, child)
	p.writes += writes
	if taken, ok := errors.AsType[*apply.NotOwnedError](err); ok {
		return Fail("NotOwned", taken.Error(), err)
	}
	if going, ok := errors.AsType[*apply.TerminatingError](err); ok {
		return Wait("ChildTerminating", going.Error(), 0)
	}
	return err
}

package apply

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NotOwnedError says that an object exists which the owner does not control, and which Ensure therefore left alone.
type NotOwnedError struct {
	Kind, Namespace, Name string
	// Owner describes the object's controller; empty when it has none.
	Owner string
}

func notOwned(kind string, found client.Object) error {
	refused := &NotOwnedError{Kind: kind, Namespace: found.GetNamespace(), Name: found.GetName()}
	if owner := metav1.GetControllerOf(found); owner != nil {
		refused.Owner = fmt.Sprintf("%s %q (UID %s)", owner.Kind, owner.Name, owner.UID)
	}
	return refused
}

func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("%s %q exists in namespace %q and is controlled by %s, so it is left alone. Delete or rename it to let this object create its own.", e.Kind, e.Name, e.Namespace, cmp.Or(e.Owner, "nobody"))
}

// TerminatingError says that the child is being deleted.
type TerminatingError struct{ Kind, Name string }

func (e *TerminatingError) Error() string {
	return fmt.Sprintf("%s %q is being deleted. It is created again once it is gone.", e.Kind, e.Name)
}

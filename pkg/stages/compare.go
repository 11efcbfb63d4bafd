package stages

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// compare reads what is there under the child's name, nil when nothing is, and tells whether it is as it should be. The
// child is then what was found.
func (p *Pass[T]) compare(ctx context.Context, reader client.Reader, child client.Object) (found client.Object, current bool, err error) {
	kind, found := child.GetObjectKind().GroupVersionKind(), twin(child)
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(child), found); {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !metav1.IsControlledBy(found, p.base):
		refused := &NotOwnedError{Kind: kind.Kind, Namespace: found.GetNamespace(), Name: found.GetName()}
		if owner := metav1.GetControllerOf(found); owner != nil {
			refused.Owner = fmt.Sprintf("%s %q (UID %s)", owner.Kind, owner.Name, owner.UID)
		}
		return nil, false, Fail("NotOwned", refused.Error(), refused)
	case !found.GetDeletionTimestamp().IsZero():
		return nil, false, Wait("ChildTerminating", fmt.Sprintf("%s %q is being deleted. It is created again once it is gone.", kind.Kind, found.GetName()), 0)
	}
	found.GetObjectKind().SetGroupVersionKind(kind)
	current, err = p.controller.current(found, child)
	if err == nil && current {
		assign(child, found)
	}
	return found, current, err
}

// current tells whether applying the child to live would change nothing: the digests are the same, and this version of
// the object is known to have every value, or does have it.
func (c *Controller[T]) current(live, child client.Object) (bool, error) {
	if live.GetAnnotations()[c.annotation] != child.GetAnnotations()[c.annotation] {
		return false, nil
	}
	if version, ok := c.memory.Get(ensured(live.GetUID())); ok && version == live.GetResourceVersion() {
		return true, nil
	}
	want, wrong := content(child)
	have, err := content(live)
	if err := errors.Join(wrong, err); err != nil || !covers(have, want) {
		return false, err
	}
	c.remember(live)
	return true, nil
}

// ensured is a child's UID in the memory, which has the version that is known to have every value. What the API server
// made of an apply counts, so an admission webhook that changes the values is not fought over and over.
type ensured types.UID

func (c *Controller[T]) remember(child client.Object) {
	c.memory.Add(ensured(child.GetUID()), child.GetResourceVersion(), rememberFor)
}

// covers tells whether live carries every value of intent. Others may add fields and list items (a sidecar, an
// environment variable); a list of plain values, such as arguments, has to be the same.
func covers(live, intent any) bool {
	switch intent := intent.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, value := range intent {
			ok = ok && covers(live[key], value)
		}
		return ok
	case []any:
		live, _ := live.([]any)
		for i, item := range intent {
			_, object := item.(map[string]any)
			if object && !slices.ContainsFunc(live, func(have any) bool { return covers(have, item) }) ||
				!object && (len(live) != len(intent) || !reflect.DeepEqual(live[i], item)) {
				return false
			}
		}
		return true
	default:
		return intent == nil || reflect.DeepEqual(live, intent)
	}
}

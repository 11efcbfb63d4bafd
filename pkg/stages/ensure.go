package stages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Change tells what Ensure did.
type Change string

// What Ensure did.
const (
	Unchanged Change = "Unchanged"
	Created   Change = "Created"
	Updated   Change = "Updated"
)

// NotOwnedError says that an object exists which the primary does not control, and which Ensure therefore left alone.
type NotOwnedError struct {
	Kind, Namespace, Name string
	// Owner describes the object's controller; empty when it has none.
	Owner string
}

func (e *NotOwnedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Sprintf("%s %q exists in namespace %q and is controlled by %s, so it is left alone. Delete or rename it to let this object create its own.", e.Kind, e.Name, e.Namespace, owner)
}

// Ensure makes the child exist with the given values by server-side apply. Name, namespace and controller reference
// come from the primary when unset. Fields that an earlier Ensure set and this one does not are removed; fields of
// others stay. On return child holds the object as the API server has it.
//
// The write is left out when it would change nothing: the child carries a digest of what was applied last, and every
// applied value is still there. An object that the primary does not control is never touched; the error is then a
// [NotOwnedError]. While the child is being deleted the error is a [Wait].
func (p *Pass[T]) Ensure(ctx context.Context, child client.Object) (Change, error) {
	intent, err := p.intent(child)
	if err != nil {
		return "", fmt.Errorf("ensure %T: %w", child, err)
	}
	change, err := p.reconcileChild(ctx, p.controller.config.children, intent, child)
	if apierrors.IsConflict(err) && intent.GetResourceVersion() == neverResourceVersion {
		// The child exists, but the cache has not seen it.
		intent.SetResourceVersion("")
		change, err = p.reconcileChild(ctx, p.controller.live, intent, child)
	}
	if err != nil {
		return "", fmt.Errorf("ensure %s %s: %w", intent.GetKind(), client.ObjectKeyFromObject(child), err)
	}
	if change != Unchanged {
		p.writes++
	}
	return change, nil
}

// neverResourceVersion is a version that no object has: the last that etcd could count to (int64).
const neverResourceVersion = "9223372036854775807"

// reconcileChild compares the intent with what reader has and applies it when they differ.
//
// Every apply carries a resource version, so it lands on the version that was compared or fails with a conflict. For a
// child that the reader does not have, that is a version that no object has: the API server ignores it when the apply
// creates the object, and answers a conflict when the object exists (generic registry, Store.Update). One call thus
// creates the child, and cannot take over an object that the cache has not seen. A plain create would not do: it
// records its fields as those of an update, and a later apply could not remove them.
func (p *Pass[T]) reconcileChild(ctx context.Context, reader client.Reader, intent *unstructured.Unstructured, child client.Object) (Change, error) {
	existing, change := twin(child), Updated
	existing.GetObjectKind().SetGroupVersionKind(intent.GroupVersionKind())
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(child), existing); {
	case apierrors.IsNotFound(err):
		change = Created
		intent.SetResourceVersion(neverResourceVersion)
	case err != nil:
		return "", err
	default:
		if unchanged, err := p.compare(intent, existing); err != nil {
			return "", err
		} else if unchanged {
			assign(child, existing)
			return Unchanged, nil
		}
		intent.SetResourceVersion(existing.GetResourceVersion())
	}
	applied := intent.DeepCopy()
	if err := p.apply(ctx, applied); err != nil {
		return "", err
	}
	if applied.GetResourceVersion() == existing.GetResourceVersion() {
		change = Unchanged // The API server found nothing to change.
	}
	fresh := twin(child)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, fresh); err != nil {
		return "", err
	}
	assign(child, fresh)
	return change, nil
}

// apply sends the object by server-side apply and reads the answer back into it.
//
// The API server reads the body as YAML, which folds or forbids characters that JSON allows in a string as they are;
// so these are sent as escapes.
func (p *Pass[T]) apply(ctx context.Context, object *unstructured.Unstructured) error {
	body, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	return p.controller.client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, escapeForYAML(body)), client.FieldOwner(p.controller.config.fieldOwner), client.ForceOwnership)
}

// escapeForYAML writes the characters of a JSON text that YAML 1.1 does not take as they are, all of them inside
// strings, as JSON escapes, which YAML reads alike.
func escapeForYAML(text []byte) []byte {
	safe := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r >= 0x7F && r <= 0x9F, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			safe = fmt.Appendf(safe, "\\u%04x", r)
		default:
			safe = utf8.AppendRune(safe, r)
		}
	}
	return safe
}

// compare tells whether applying the intent to existing would change nothing, or why it must not be applied.
func (p *Pass[T]) compare(intent *unstructured.Unstructured, existing client.Object) (bool, error) {
	if !metav1.IsControlledBy(existing, p.base) {
		refused := &NotOwnedError{Kind: intent.GetKind(), Namespace: intent.GetNamespace(), Name: intent.GetName()}
		if owner := metav1.GetControllerOf(existing); owner != nil {
			refused.Owner = fmt.Sprintf("%s %q (UID %s)", owner.Kind, owner.Name, owner.UID)
		}
		return false, refused
	}
	if !existing.GetDeletionTimestamp().IsZero() {
		return false, Wait("ChildTerminating", fmt.Sprintf("%s %q is being deleted. It is created again once it is gone.", intent.GetKind(), intent.GetName()), 0)
	}
	live, err := runtime.DefaultUnstructuredConverter.ToUnstructured(existing)
	if err != nil {
		return false, err
	}
	live["apiVersion"], live["kind"] = intent.GetAPIVersion(), intent.GetKind()
	return covers(live, intent.Object), nil
}

// intent completes the child from the primary and returns what to apply: its values without status and server-set
// metadata, and with their digest as an annotation.
func (p *Pass[T]) intent(child client.Object) (*unstructured.Unstructured, error) {
	if child.GetName() == "" {
		child.SetName(p.base.GetName())
	}
	if child.GetNamespace() == "" {
		child.SetNamespace(p.base.GetNamespace())
	}
	if !metav1.IsControlledBy(child, p.base) {
		if err := controllerutil.SetControllerReference(p.base, child, p.controller.client.Scheme()); err != nil {
			return nil, err
		}
	}
	gvk, err := p.controller.client.GroupVersionKindFor(child)
	if err != nil {
		return nil, err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return nil, err
	}
	intent := &unstructured.Unstructured{Object: object}
	intent.SetGroupVersionKind(gvk)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(object, "metadata", field)
	}
	delete(object, "status")
	mark := []string{"metadata", "annotations", p.controller.config.annotation}
	if err := unstructured.SetNestedField(object, "", mark...); err != nil { // The digest is not part of itself.
		return nil, err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	return intent, unstructured.SetNestedField(object, hex.EncodeToString(digest[:16]), mark...)
}

// covers tells whether live carries every value of intent. Others may add fields and list items (a sidecar, an
// environment variable); a list of plain values, such as arguments, has to be the same.
func covers(live, intent any) bool {
	switch intent := intent.(type) {
	case nil:
		return true
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, value := range intent {
			ok = ok && covers(live[key], value)
		}
		return ok
	case []any:
		live, _ := live.([]any)
		for i, item := range intent {
			if _, object := item.(map[string]any); object {
				if !slices.ContainsFunc(live, func(have any) bool { return covers(have, item) }) {
					return false
				}
			} else if len(live) != len(intent) || !reflect.DeepEqual(live[i], item) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(live, intent)
	}
}

// twin returns a new, empty object of the type of obj.
func twin(obj client.Object) client.Object {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
}

func assign(dst, src client.Object) {
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem())
}

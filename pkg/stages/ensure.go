package stages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// NotOwnedError says that an object exists which the primary does not control, and which Ensure therefore left alone.
type NotOwnedError struct {
	Kind, Namespace, Name string
	// Owner describes the object's controller; empty when it has none.
	Owner string
}

func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("%s %q exists in namespace %q and is controlled by %s, so it is left alone. Delete or rename it to let this object create its own.", e.Kind, e.Name, e.Namespace, cmp.Or(e.Owner, "nobody"))
}

// neverResourceVersion is a version that no object has: the last that etcd could count to (int64).
const neverResourceVersion = "9223372036854775807"

// Ensure makes the child exist with the given values by server-side apply. Name, namespace and controller reference
// come from the primary when unset. Fields that an earlier Ensure set and this one does not are removed; fields of
// others stay. On return child holds the object as the API server has it.
//
// The write is left out when it would change nothing: the child carries a digest of what was applied last, and every
// applied value is still there. An object that the primary does not control is never touched; the error then wraps a
// [NotOwnedError]. While the child is being deleted the error is a [Wait].
func (p *Pass[T]) Ensure(ctx context.Context, child client.Object) error {
	c := p.controller
	gvk, err := c.client.GroupVersionKindFor(child)
	if err != nil {
		return fmt.Errorf("ensure %T: %w", child, err)
	}
	child.GetObjectKind().SetGroupVersionKind(gvk)
	child.SetName(cmp.Or(child.GetName(), p.base.GetName()))
	child.SetNamespace(cmp.Or(child.GetNamespace(), p.base.GetNamespace()))
	err = controllerutil.SetControllerReference(p.base, child, c.client.Scheme())
	if err == nil {
		err = c.sign(child)
	}
	if err == nil {
		err = p.ensure(ctx, c.client, child)
	}
	if apierrors.IsConflict(err) && child.GetResourceVersion() == neverResourceVersion {
		child.SetResourceVersion("") // The child exists, but the cache has not seen it.
		err = p.ensure(ctx, c.live, child)
	}
	if err != nil {
		return fmt.Errorf("ensure %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(child), err)
	}
	return nil
}

// sign puts a digest of the child, without its status, into the annotation.
func (c *Controller[T]) sign(child client.Object) (err error) {
	copyStatus(child, blank(child))
	annotations := map[string]string{}
	maps.Copy(annotations, child.GetAnnotations())
	annotations[c.annotation] = "" // The digest is not part of itself.
	child.SetAnnotations(annotations)
	var text []byte
	// The kinds of Kubernetes have a protobuf form, which costs a tenth of JSON. Other kinds may have inherited its
	// method from something that they embed.
	if proto, ok := child.(interface{ Marshal() ([]byte, error) }); ok && strings.HasPrefix(reflect.TypeOf(child).Elem().PkgPath(), "k8s.io/api/") {
		text, err = proto.Marshal()
	} else {
		text, err = json.Marshal(child)
	}
	digest := sha256.Sum256(text)
	annotations[c.annotation] = hex.EncodeToString(digest[:16])
	return err
}

// ensure compares the child with what reader has and applies it when they differ.
//
// Every apply carries a resource version, so it lands on the version that was compared or fails with a conflict. For a
// child that the reader does not have, that is a version that no object has: the API server ignores it when the apply
// creates the object, and answers a conflict when the object exists (generic registry, Store.Update). One call thus
// creates the child, and cannot take over an object that the cache has not seen. A plain create would not do: it
// records its fields as those of an update, and a later apply could not remove them.
func (p *Pass[T]) ensure(ctx context.Context, reader client.Reader, child client.Object) error {
	c, kind, live := p.controller, child.GetObjectKind().GroupVersionKind(), twin(child)
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(child), live); {
	case apierrors.IsNotFound(err):
		child.SetResourceVersion(neverResourceVersion)
	case err != nil:
		return err
	case !metav1.IsControlledBy(live, p.base):
		refused := &NotOwnedError{Kind: kind.Kind, Namespace: live.GetNamespace(), Name: live.GetName()}
		if owner := metav1.GetControllerOf(live); owner != nil {
			refused.Owner = fmt.Sprintf("%s %q (UID %s)", owner.Kind, owner.Name, owner.UID)
		}
		return Fail("NotOwned", refused.Error(), refused)
	case !live.GetDeletionTimestamp().IsZero():
		return Wait("ChildTerminating", fmt.Sprintf("%s %q is being deleted. It is created again once it is gone.", kind.Kind, live.GetName()), 0)
	default:
		live.GetObjectKind().SetGroupVersionKind(kind)
		current, err := c.current(live, child)
		if err != nil || current {
			assign(child, live)
			return err
		}
		child.SetResourceVersion(live.GetResourceVersion())
	}
	object, err := content(child)
	if err != nil {
		return err
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	applied := twin(child)
	if err := c.client.Patch(ctx, applied, client.RawPatch(types.ApplyPatchType, escapeForYAML(body)), client.FieldOwner(c.fieldOwner), client.ForceOwnership); err != nil {
		return err
	}
	if applied.GetResourceVersion() != live.GetResourceVersion() {
		p.writes++ // Else the API server found nothing to change.
	}
	c.remember(applied)
	assign(child, applied)
	return nil
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

// content returns what is applied of a child.
func content(child client.Object) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	delete(object, "status")
	return object, err
}

// twin returns a new object of the kind and name of child, and without anything else.
func twin(child client.Object) client.Object {
	twin := blank(child)
	twin.GetObjectKind().SetGroupVersionKind(child.GetObjectKind().GroupVersionKind())
	twin.SetNamespace(child.GetNamespace())
	twin.SetName(child.GetName())
	return twin
}

// yamlForbids matches the characters that JSON takes as they are and YAML 1.1 does not.
var yamlForbids = regexp.MustCompile("[\x7f-\u009f\u2028\u2029\ufeff\ufffe\uffff]")

// escapeForYAML writes such characters of a JSON text, all of them inside strings, as escapes. The API server reads the
// body of an apply as YAML, which would fold or refuse them.
func escapeForYAML(text []byte) []byte {
	return yamlForbids.ReplaceAllFunc(text, func(r []byte) []byte {
		return fmt.Appendf(nil, "\\u%04x", []rune(string(r))[0])
	})
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

func assign(dst, src client.Object) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

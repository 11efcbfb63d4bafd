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
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
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

// Ensure makes the child exist with the given values, by server-side apply. Name, namespace and controller reference
// come from the primary when unset. Fields that an earlier Ensure set and this one does not are removed; fields of
// others stay. On return child holds the object as the API server has it.
//
// The write is left out when it would change nothing: the child carries a digest of what was applied last, and every
// applied value is still there. An object that the primary does not control is never touched; the error then wraps a
// [NotOwnedError]. While the child is being deleted the error is a [Wait].
//
// A child that is not there is created. What admission adds to a create counts as set by it: the first later change
// takes it away, unless admission adds it to updates too.
func (p *Pass[T]) Ensure(ctx context.Context, child client.Object) error {
	c := p.controller
	gvk, err := c.client.GroupVersionKindFor(child)
	if err != nil {
		return fmt.Errorf("ensure %T: %w", child, err)
	}
	if child.GetResourceVersion() != "" {
		return fmt.Errorf("ensure %s %q: it comes from the API server; build the child anew for each Ensure", gvk.Kind, child.GetName())
	}
	child.GetObjectKind().SetGroupVersionKind(gvk)
	child.SetName(cmp.Or(child.GetName(), p.base.GetName()))
	child.SetNamespace(cmp.Or(child.GetNamespace(), p.base.GetNamespace()))
	err = controllerutil.SetControllerReference(p.base, child, c.client.Scheme())
	if err == nil {
		err = c.sign(child)
	}
	if err == nil {
		err = p.ensure(ctx, child)
	}
	if err != nil {
		return fmt.Errorf("ensure %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(child), err)
	}
	return nil
}

// ensure creates a child that the cache does not have, which costs the API server half of an apply and cannot take over
// an object that the cache has not seen. Every other write compares with the API server first: it is rare, and only the
// API server surely has who manages which field.
func (p *Pass[T]) ensure(ctx context.Context, child client.Object) error {
	c := p.controller
	found, current, err := p.compare(ctx, c.client, child)
	if err == nil && found == nil {
		created := clone(child)
		err = c.client.Create(ctx, created, client.FieldOwner(c.fieldOwner))
		if err == nil {
			p.wrote(child, created)
			return nil
		}
		err = client.IgnoreAlreadyExists(err)
	}
	if err != nil || current {
		return err
	}
	found, current, err = p.compare(ctx, c.live, child)
	if err != nil || current {
		return err
	}
	if found == nil {
		kind := child.GetObjectKind().GroupVersionKind()
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, child.GetName(), errors.New("it came or went in this moment"))
	}
	return p.apply(ctx, found, child)
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

// apply writes the child over live, or fails with a conflict when live is no longer the present version.
//
// The fields that a create set are those of an update, which no apply removes. They are made those of an apply first.
func (p *Pass[T]) apply(ctx context.Context, live, child client.Object) error {
	c := p.controller
	moved, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(c.fieldOwner), c.fieldOwner)
	if err == nil && moved != nil {
		err = c.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, moved))
	}
	if err != nil {
		return err
	}
	child.SetResourceVersion(live.GetResourceVersion())
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
	p.wrote(child, applied)
	return nil
}

// wrote makes child what the API server made of it.
func (p *Pass[T]) wrote(child, stored client.Object) {
	if stored.GetResourceVersion() != child.GetResourceVersion() {
		p.writes++ // Else the API server found nothing to change.
	}
	p.controller.remember(stored)
	assign(child, stored)
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

func assign(dst, src client.Object) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

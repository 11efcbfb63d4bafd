package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// compare reads what is there under the child's name, nil when nothing is, and tells whether it is as it should be. The
// child is then what was found. What was found is returned with an error about it too.
func (a *Applier) compare(ctx context.Context, reader client.Reader, owner, child client.Object) (found client.Object, current bool, err error) {
	kind, found := child.GetObjectKind().GroupVersionKind(), twin(child)
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(child), found); {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !metav1.IsControlledBy(found, owner):
		return found, false, notOwned(kind.Kind, found)
	case !found.GetDeletionTimestamp().IsZero():
		return found, false, &TerminatingError{Kind: kind.Kind, Name: found.GetName()}
	}
	found.GetObjectKind().SetGroupVersionKind(kind)
	current, err = a.current(found, child)
	if err == nil && current {
		assign(child, found)
	}
	return found, current, err
}

// current tells whether applying the child to live would change nothing: the digests are the same, and this version of
// the object is known to have every value, or does have it.
func (a *Applier) current(live, child client.Object) (bool, error) {
	if live.GetAnnotations()[a.annotation] != child.GetAnnotations()[a.annotation] {
		return false, nil
	}
	if version, ok := a.memory.Get(live.GetUID()); ok && version == live.GetResourceVersion() {
		return true, nil
	}
	want, wrong := content(child)
	have, err := content(live)
	if err := errors.Join(wrong, err); err != nil || !covers(have, want) {
		return false, err
	}
	a.remember(live)
	return true, nil
}

// remember notes a version that has every value. What the API server made of a write counts, so an admission webhook
// that changes the values is not fought over and over.
func (a *Applier) remember(child client.Object) {
	a.memory.Add(child.GetUID(), child.GetResourceVersion(), rememberFor)
}

// covers tells whether live carries every value of intent. Others may add fields, and items to a list whose items have
// names (a sidecar, an environment variable). Any other list, such as arguments or the rules of a policy, has as many
// items and each covers its own.
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
		if len(intent) > 0 && !slices.ContainsFunc(intent, nameless) {
			missing := func(item any) bool {
				return !slices.ContainsFunc(live, func(have any) bool { return covers(have, item) })
			}
			return !slices.ContainsFunc(intent, missing)
		}
		return slices.EqualFunc(live, intent, covers)
	default:
		return intent == nil || reflect.DeepEqual(live, intent)
	}
}

// nameless tells whether an item lacks that by which the API tells the items of most lists apart.
func nameless(item any) bool {
	object, _ := item.(map[string]any)
	return object["name"] == nil
}

// sign puts a digest of the child, without its status, into the annotation.
func (a *Applier) sign(child client.Object) (err error) {
	if status := reflect.ValueOf(child).Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	annotations := map[string]string{}
	maps.Copy(annotations, child.GetAnnotations())
	annotations[a.annotation] = "" // The digest is not part of itself.
	child.SetAnnotations(annotations)
	var text []byte
	var object map[string]any
	// The kinds of Kubernetes have a protobuf form, which costs a tenth of JSON. Other kinds may have inherited its
	// method from something that they embed.
	if proto, ok := child.(interface{ Marshal() ([]byte, error) }); ok && strings.HasPrefix(reflect.TypeOf(child).Elem().PkgPath(), "k8s.io/api/") {
		text, err = proto.Marshal()
	} else if object, err = content(child); err == nil {
		text, err = json.Marshal(object)
	}
	digest := sha256.Sum256(text)
	annotations[a.annotation] = hex.EncodeToString(digest[:16])
	child.SetAnnotations(annotations)
	return err
}

// content returns what is applied of a child.
func content(child client.Object) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	object = maps.Clone(object) // That of an unstructured child is the child itself.
	delete(object, "status")
	return object, err
}

// twin returns a new object of the kind and name of child, and without anything else.
func twin(child client.Object) client.Object {
	twin := reflect.New(reflect.TypeOf(child).Elem()).Interface().(client.Object)
	twin.GetObjectKind().SetGroupVersionKind(child.GetObjectKind().GroupVersionKind())
	twin.SetNamespace(child.GetNamespace())
	twin.SetName(child.GetName())
	return twin
}

func assign(dst, src client.Object) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

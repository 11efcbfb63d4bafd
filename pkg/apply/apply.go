// Package apply keeps the objects that another object controls as they should be, by server-side apply, and sends
// nothing when nothing would change: an apply that changes nothing costs the API server as much as one that does.
//
// A child that is not there is created, which costs half of an apply and cannot take over an object that the cache has
// not seen. Every later write compares with the API server first: it is rare, and only the API server surely has who
// manages which field.
package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// remembered bounds the memory of the process. What is forgotten costs a needless look, no write.
	remembered = 16384
	// rememberFor is how long a child is known to have every value without a look at them.
	rememberFor = 30 * time.Minute
	// catchUp is how long a child that was just created may be missing in the cache. After that it counts as deleted.
	catchUp = 5 * time.Second
)

// Applier writes children. It is safe for concurrent use.
type Applier struct {
	client     client.Client
	live       client.Reader
	fieldOwner string
	annotation string
	// memory has the version of each child that is known to have every value, by UID, and the children that the cache
	// has not shown since they were created.
	memory *cache.LRUExpireCache
}

// New returns an Applier that reads and writes with c, which usually reads from a cache, and reads from live, past every
// cache, before it changes something. Children are applied as fieldOwner and carry a digest of what was applied in the
// annotation.
func New(c client.Client, live client.Reader, fieldOwner, annotation string, now clock.PassiveClock) *Applier {
	return &Applier{client: c, live: live, fieldOwner: fieldOwner, annotation: annotation, memory: cache.NewLRUExpireCacheWithClock(remembered, now)}
}

// Ensure makes the child exist with the given values and returns how many writes that took. Name, namespace and
// controller reference come from the owner when unset; a namespaced owner cannot have a cluster-scoped child, which
// nothing would ever collect. Fields that an earlier Ensure set and this one does not are removed; fields of others stay.
// On return child holds the object as the API server has it.
//
// No write is sent when the child carries the digest of what would be applied and every value is still there. An object
// that the owner does not control is never touched; the error then wraps a [NotOwnedError]. It wraps a
// [TerminatingError] while the child is being deleted, and is a conflict (HTTP 409) when what was read is too old to
// decide on.
//
// What admission adds to a create counts as set by it: the first later change takes it away, unless admission adds it to
// updates too.
func (a *Applier) Ensure(ctx context.Context, owner, child client.Object) (writes int, err error) {
	gvk, err := a.client.GroupVersionKindFor(child)
	if err != nil {
		return 0, fmt.Errorf("ensure %T: %w", child, err)
	}
	if child.GetResourceVersion() != "" {
		return 0, fmt.Errorf("ensure %s %q: it comes from the API server; build the child anew for each Ensure", gvk.Kind, child.GetName())
	}
	child.GetObjectKind().SetGroupVersionKind(gvk)
	child.SetName(cmp.Or(child.GetName(), owner.GetName()))
	// A kind that the mapper does not know cannot be written either.
	if namespaced, err := a.client.IsObjectNamespaced(child); namespaced || err != nil {
		child.SetNamespace(cmp.Or(child.GetNamespace(), owner.GetNamespace()))
	}
	err = controllerutil.SetControllerReference(owner, child, a.client.Scheme())
	if err == nil {
		err = a.sign(child)
	}
	if err == nil {
		writes, err = a.ensure(ctx, owner, child)
	}
	if err != nil {
		return writes, fmt.Errorf("ensure %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(child), err)
	}
	return writes, nil
}

func (a *Applier) ensure(ctx context.Context, owner, child client.Object) (int, error) {
	key := created{child.GetObjectKind().GroupVersionKind(), client.ObjectKeyFromObject(child), owner.GetUID()}
	found, current, err := a.compare(ctx, a.client, owner, child)
	if found != nil {
		a.memory.Remove(key)
	}
	if err != nil || current {
		return 0, err
	}
	if found == nil {
		writes, err := a.create(ctx, key, child)
		if !apierrors.IsAlreadyExists(err) {
			return writes, err
		}
	}
	found, current, err = a.compare(ctx, a.live, owner, child)
	if err != nil || current {
		return 0, err
	}
	if found == nil {
		return 0, outdated(child, "it came or went in this moment")
	}
	return a.apply(ctx, found, child)
}

// created is the key of a child that the cache has not shown since it was created.
type created struct {
	kind  schema.GroupVersionKind
	name  types.NamespacedName
	owner types.UID
}

// create creates the child, but not a second time before the cache has shown the first: the API server would refuse it.
func (a *Applier) create(ctx context.Context, key created, child client.Object) (writes int, err error) {
	if _, unseen := a.memory.Get(key); unseen {
		return 0, outdated(child, "the cache has not shown it since it was created")
	}
	stored := child.DeepCopyObject().(client.Object)
	if err := a.client.Create(ctx, stored, client.FieldOwner(a.fieldOwner)); err != nil {
		return 0, err
	}
	a.memory.Add(key, true, catchUp)
	a.wrote(child, stored)
	return 1, nil
}

func outdated(child client.Object, why string) error {
	kind := child.GetObjectKind().GroupVersionKind()
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, child.GetName(), errors.New(why))
}

// apply writes the child over live, or fails with a conflict when live is no longer the present version.
//
// The fields that a create set are those of an update, which no apply removes. They are made those of an apply first.
func (a *Applier) apply(ctx context.Context, live, child client.Object) (writes int, err error) {
	moved, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(a.fieldOwner), a.fieldOwner)
	if err != nil {
		return 0, err
	}
	if moved != nil {
		if err := a.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, moved)); err != nil {
			return 0, err
		}
		writes++
	}
	child.SetResourceVersion(live.GetResourceVersion())
	object, err := content(child)
	if err != nil {
		return writes, err
	}
	body, err := json.Marshal(object)
	if err != nil {
		return writes, err
	}
	applied := twin(child)
	if err := a.client.Patch(ctx, applied, client.RawPatch(types.ApplyPatchType, escapeForYAML(body)), client.FieldOwner(a.fieldOwner), client.ForceOwnership); err != nil {
		return writes, err
	}
	if applied.GetResourceVersion() != live.GetResourceVersion() {
		writes++ // Else the API server found nothing to change.
	}
	a.wrote(child, applied)
	return writes, nil
}

// wrote makes child what the API server made of it.
func (a *Applier) wrote(child, stored client.Object) {
	a.remember(stored)
	assign(child, stored)
}

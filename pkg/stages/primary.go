package stages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Save asks that the handler's edits of the object's spec and metadata be saved when the pass succeeds. Stages cannot
// use it: the pass fails.
func (p *Pass[T]) Save() {
	if len(p.steps) > 0 {
		p.refuse(errors.New("Save is for handlers without stages"))
		return
	}
	p.save = true
}

func (p *Pass[T]) saveObject(ctx context.Context) error {
	copyStatus(p.object, p.base)
	if equality.Semantic.DeepEqual(p.object, p.base) {
		return nil
	}
	from := client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{})
	if err := p.controller.client.Patch(ctx, p.object, from, client.FieldOwner(p.controller.config.fieldOwner)); err != nil {
		return fmt.Errorf("save the object: %w", err)
	}
	p.moved(p.object)
	return nil
}

// Annotate writes annotations of the primary at once, ahead of the status: a mark that must be stored before a step
// that cannot be taken back. A nil value removes the annotation. The write is guarded by the UID and the resource
// version that the pass works on, so a pass over an old version cannot mark anything: its conflict restarts the pass
// when the handler returns it. The pass goes on with the new version.
func (p *Pass[T]) Annotate(ctx context.Context, annotations map[string]*string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.base.GetUID(), "resourceVersion": p.base.GetResourceVersion(), "annotations": annotations,
	}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	stored := clone(p.base)
	if err := p.controller.client.Patch(ctx, stored, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(p.controller.config.fieldOwner)); err != nil {
		return fmt.Errorf("annotate the object: %w", err)
	}
	p.moved(stored)
	return nil
}

// moved makes the pass go on with the version that a write of its own produced.
func (p *Pass[T]) moved(stored T) {
	p.writes++
	p.controller.remember(stored)
	p.base = clone(p.base) // The caller's object stays as it is.
	for _, obj := range []T{p.base, p.object, p.staged} {
		obj.SetResourceVersion(stored.GetResourceVersion())
		obj.SetAnnotations(maps.Clone(stored.GetAnnotations()))
	}
}

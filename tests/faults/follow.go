package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follow reports every version of the listed kind in a namespace, past the
// proxy, until ctx ends. The API server may restart meanwhile; where versions
// were lost over that, gap is called before the next one is reported.
func follow(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace string, seen func(watch.EventType, client.Object), gap func()) {
	for ctx.Err() == nil {
		from := list.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, from, client.InNamespace(namespace)); err != nil {
			pause(ctx, 200*time.Millisecond)
			continue
		}
		_ = meta.EachListItem(from, func(item runtime.Object) error { // The function returns no error.
			seen(watch.Added, item.(client.Object))
			return nil
		})
		if err := followFrom(ctx, c, list, namespace, from.GetResourceVersion(), seen); err != nil {
			pause(ctx, 200*time.Millisecond)
		}
		gap()
	}
}

func followFrom(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace, version string, seen func(watch.EventType, client.Object)) error {
	source := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), &client.ListOptions{Namespace: namespace, Raw: &options})
	}}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, version, source)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if object, ok := event.Object.(client.Object); ok && event.Type != watch.Bookmark {
			seen(event.Type, object)
		}
	}
	return nil
}

// pause waits; it is false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

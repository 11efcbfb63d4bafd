package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// view decides what of the world the caches of the operator get to see: the
// world as it is, nothing new for a while, or the world as it was.
type view struct {
	mu      sync.Mutex
	open    map[int]context.CancelFunc
	resumed time.Time // when watches are served again
	next    int
	// past is the resource version that lists show until then; empty: now.
	past string
	// expired are the resources whose next watch is told to list again.
	expired map[string]bool
}

func newView() *view {
	return &view{open: map[int]context.CancelFunc{}, expired: map[string]bool{}}
}

// cut ends every watch and serves none for a while. Then each has to list
// again, so that what came and went in between is never seen.
func (v *view) cut(pause time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.resumed = time.Now().Add(pause)
	for _, end := range v.open {
		end()
	}
}

// rewind shows the world as it was at a resource version, for a while. Only
// caches are shown it: the API server may answer a list of a cache with what it
// had earlier (kubernetes/kubernetes#59848), and no other read.
func (v *view) rewind(past string, pause time.Duration) {
	v.mu.Lock()
	v.past = past
	v.mu.Unlock()
	v.cut(pause)
}

// rewrite turns the list of a cache into one of the past.
func (v *view) rewrite(r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	query := r.URL.Query()
	if !v.lags() || query.Get("resourceVersion") != "0" {
		return
	}
	query.Set("resourceVersion", v.past)
	query.Set("resourceVersionMatch", "Exact")
	r.URL.RawQuery = query.Encode()
}

func (v *view) lags() bool { return v.past != "" && time.Now().Before(v.resumed) }

// watch waits until watches are served. It returns the context of the watch
// and what ends it, or the code that refuses it.
func (v *view) watch(r *http.Request, resource string) (ctx context.Context, end func(), code int) {
	streamed := r.URL.Query().Get("sendInitialEvents") == "true"
	v.mu.Lock()
	lags, pause := v.lags(), time.Until(v.resumed)
	v.mu.Unlock()
	if streamed && lags {
		// An API server that can be behind does not stream lists.
		return nil, nil, http.StatusUnprocessableEntity
	}
	select {
	case <-time.After(pause):
	case <-r.Context().Done():
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !streamed && v.expired[resource] {
		delete(v.expired, resource)
		return nil, nil, http.StatusGone
	}
	ctx, cancel := context.WithCancel(r.Context())
	v.next++
	number := v.next
	v.open[number] = func() {
		cancel()
		v.expired[resource] = true
	}
	return ctx, func() {
		cancel()
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.open, number)
	}, 0
}

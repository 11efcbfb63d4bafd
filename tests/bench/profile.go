package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// profile records CPU profiles of the API server and the operator while the
// agents of a trial live, if that is asked for, for `go tool pprof` to show.
// One that fails is told and left out. The returned function waits for them.
func (t trial) profile(ctx context.Context, p *plane, w who) (wait func()) {
	var group sync.WaitGroup
	if t.profiles == "" {
		return group.Wait
	}
	seconds := strconv.Itoa(max(2, t.agents/40))
	take := func(of string, read func(context.Context) ([]byte, error)) {
		group.Go(func() {
			text, err := read(ctx)
			if err == nil {
				err = os.WriteFile(filepath.Join(t.profiles, fmt.Sprintf("%s-%d-%s-%s.pprof", t.variant, t.agents, w.name, of)), text, 0o644)
			}
			if err != nil {
				fmt.Fprintf(t.progress, "no profile of the %s: %v\n", of, err)
			}
		})
	}
	take("apiserver", func(ctx context.Context) ([]byte, error) {
		return p.raw.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).DoRaw(ctx)
	})
	if w.pprof != "" {
		take("operator", func(ctx context.Context) ([]byte, error) { return get(ctx, w.pprof+"profile?seconds="+seconds) })
	}
	return group.Wait
}

// get reads what an HTTP server answers.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

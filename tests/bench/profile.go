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
// agents of a trial live, if that is asked for, for `go tool pprof` to show. They
// are short, to end before the last agent has settled. The returned function waits
// for them.
func (t trial) profile(ctx context.Context, p *plane, w who) (wait func()) {
	var group sync.WaitGroup
	if t.profiles == "" {
		return group.Wait
	}
	seconds := strconv.Itoa(max(2, t.agents/150))
	group.Go(func() {
		t.keep(w.name+"-apiserver", func() ([]byte, error) {
			return p.raw.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).DoRaw(ctx)
		})
	})
	if w.pprof != "" {
		group.Go(func() {
			t.keep("operator-operator", func() ([]byte, error) { return get(ctx, w.pprof+"profile?seconds="+seconds) })
		})
	}
	return group.Wait
}

// heap records what the operator keeps in memory, if profiles are asked for.
func (t trial) heap(ctx context.Context, pprof string) {
	if t.profiles != "" {
		t.keep("operator-heap", func() ([]byte, error) { return get(ctx, pprof+"heap?gc=1") })
	}
}

// keep writes a profile of the trial to a file. One that fails is told and left
// out.
func (t trial) keep(of string, read func() ([]byte, error)) {
	text, err := read()
	if err == nil {
		err = os.WriteFile(filepath.Join(t.profiles, fmt.Sprintf("%s-%d-%s.pprof", t.variant, t.agents, of)), text, 0o644)
	}
	if err != nil {
		t.say("no profile of %s: %v", of, err)
	}
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

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestRequestsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		method, path string
		want         target
	}{
		"discovery":                    {"GET", "/apis", target{"discover", "apis", ""}},
		"discovery of a version":       {"GET", "/apis/batch/v1", target{"discover", "apis", ""}},
		"a list":                       {"GET", "/api/v1/namespaces/n/pods?limit=500", target{"list", "pods", ""}},
		"a watch":                      {"GET", "/apis/batch/v1/namespaces/n/jobs?watch=true", target{"watch", "jobs", ""}},
		"a read":                       {"GET", "/apis/batch/v1/namespaces/n/jobs/j", target{"get", "jobs", "j"}},
		"a create":                     {"POST", "/apis/batch/v1/namespaces/n/jobs", target{"create", "jobs", ""}},
		"a status write":               {"PUT", "/apis/loom.beyond10x.dev/v1alpha1/namespaces/n/loomagents/a/status", target{"update", "loomagents/status", "a"}},
		"a patch":                      {"PATCH", "/api/v1/namespaces/n/configmaps/c", target{"patch", "configmaps", "c"}},
		"a deletion":                   {"DELETE", "/apis/apps/v1/namespaces/n/deployments/d", target{"delete", "deployments", "d"}},
		"the namespace itself":         {"GET", "/api/v1/namespaces/n", target{"get", "namespaces", "n"}},
		"something without namespaces": {"GET", "/api/v1/nodes", target{"list", "nodes", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, targetOf(httptest.NewRequest(c.method, c.path, nil)))
		})
	}
}

// disturbed is a proxy with a server behind it that counts what takes effect.
func disturbed(t *testing.T, disturb func(*exchange) bool) (url string, effects *atomic.Int64, p *proxy) {
	t.Helper()
	effects = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		effects.Add(1)
		_, _ = fmt.Fprintf(w, "%s?%s\n", r.URL.Path, r.URL.RawQuery)
		if r.URL.Query().Get("watch") == "true" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	p, err := newProxy(t.Context(), &rest.Config{Host: server.URL}, disturb)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.close()) })
	return p.url + "/0", effects, p
}

const jobs = "/apis/batch/v1/namespaces/n/jobs"

func send(t *testing.T, method, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = answer.Body.Close() })
	}
	return answer, err
}

func TestProxy(t *testing.T) {
	const reset = -1
	for name, c := range map[string]struct {
		disturb func(*exchange) bool
		code    int
		effects int64
	}{
		"lets through":           {nil, 200, 1},
		"resets without effect":  {func(x *exchange) bool { x.reset(); return true }, reset, 0},
		"answers without effect": {func(x *exchange) bool { x.answer(503); return true }, 503, 0},
		"loses the answer":       {func(x *exchange) bool { assert.NoError(t, x.take()); x.reset(); return true }, reset, 1},
		"answers late":           {func(x *exchange) bool { assert.NoError(t, x.late()); return true }, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			url, effects, p := disturbed(t, c.disturb)
			p.begin("create")
			answer, err := send(t, http.MethodPost, url+jobs)
			if c.code == reset {
				assert.ErrorIs(t, err, syscall.ECONNRESET)
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.code, answer.StatusCode)
			}
			assert.Equal(t, c.effects, effects.Load())
			assert.Equal(t, []Request{{Step: "create", Verb: "create", Resource: "jobs", N: 1}}, p.requests())
		})
	}
}

func TestRequestsAreCountedByKind(t *testing.T) {
	url, _, p := disturbed(t, nil)
	p.begin("one")
	for _, step := range []string{"one", "two"} {
		p.begin(step)
		for _, path := range []string{jobs + "/j", "/api/v1/namespaces/n/pods", jobs + "/k", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"} {
			_, err := send(t, http.MethodGet, url+path)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []Request{
		{"one", "get", "jobs", 1}, {"one", "list", "pods", 1}, {"one", "get", "jobs", 2},
		{"two", "get", "jobs", 1}, {"two", "list", "pods", 1}, {"two", "get", "jobs", 2},
	}, p.requests(), "leases are not counted")
}

func TestRefusal(t *testing.T) {
	url, effects, p := disturbed(t, nil)
	p.refuse(readOfJob, time.Hour)
	answer, err := send(t, http.MethodGet, url+jobs+"/j")
	require.NoError(t, err)
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)
	assert.Zero(t, effects.Load())
	_, err = send(t, http.MethodGet, url+jobs)
	require.NoError(t, err)
	assert.EqualValues(t, 1, effects.Load(), "a list is no read of a Job")
}

func TestCutWatchesListAnew(t *testing.T) {
	url, _, p := disturbed(t, nil)
	first, err := send(t, http.MethodGet, url+jobs+"?watch=true")
	require.NoError(t, err)
	_, err = bufio.NewReader(first.Body).ReadString('\n')
	require.NoError(t, err)

	began := time.Now()
	p.view.cut(300 * time.Millisecond)

	_, err = io.ReadAll(first.Body)
	require.Error(t, err, "the watch was cut")
	second, err := send(t, http.MethodGet, url+jobs+"?watch=true")
	require.NoError(t, err)
	assert.Equal(t, http.StatusGone, second.StatusCode)
	assert.Greater(t, time.Since(began), 300*time.Millisecond, "watches are held")
	third, err := send(t, http.MethodGet, url+jobs+"?watch=true")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, third.StatusCode, "it is told once")
}

func TestThePastIsShownToCachesOnly(t *testing.T) {
	url, _, p := disturbed(t, nil)
	p.view.rewind("42", time.Hour)
	for query, want := range map[string]string{
		"resourceVersion=0&limit=500": "resourceVersion=42&resourceVersionMatch=Exact",
		"limit=500":                   "?limit=500",
	} {
		answer, err := send(t, http.MethodGet, url+jobs+"?"+query)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.True(t, strings.Contains(string(text), want), "%s became %s", query, text)
	}
	streamed, err := send(t, http.MethodGet, url+jobs+"?watch=true&sendInitialEvents=true")
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnprocessableEntity, streamed.StatusCode, "a stream shows the present")
}

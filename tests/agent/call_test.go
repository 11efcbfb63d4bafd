package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallAsksEachUpstreamWithItsOwnToken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of"+r.URL.Path {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model"), "token-of/model\n")
	write(t, filepath.Join(dir, "git"), "token-of/model")
	write(t, filepath.Join(dir, "boundary.json"), `{
		"model": {"upstream": "`+server.URL+`/model", "audience": "models", "tokenFile": "`+dir+`/model"},
		"git": {"upstream": "`+server.URL+`/git", "audience": "git", "tokenFile": "`+dir+`/git", "repositories": []},
		"connectors": {"upstream": "`+server.URL+`", "audience": "connectors", "tokenFile": "`+dir+`/none", "operations": []}}`)

	got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + dir}, "call")

	require.Zero(t, got.code, got.stderr)
	assert.Equal(t, map[string]any{
		"model":      map[string]any{"status": 200.0},
		"git":        map[string]any{"status": 401.0},
		"connectors": map[string]any{"error": "reading the token: open " + dir + "/none: no such file or directory"},
	}, decode(t, []byte(got.stdout)))
}

func TestCallNeedsABoundary(t *testing.T) {
	dir := t.TempDir()
	assert.Equal(t, exitConfig, runAgent(t, []string{"LOOM_CONFIG_DIR=" + dir}, "call").code)
	write(t, filepath.Join(dir, "boundary.json"), "[]")
	assert.Equal(t, exitConfig, runAgent(t, []string{"LOOM_CONFIG_DIR=" + dir}, "call").code)
	assert.Equal(t, exitUsage, runAgent(t, nil, "call", "model").code)
}

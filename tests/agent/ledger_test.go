package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var ledgerEnv = []string{"LOOM_AGENT_NAME=counted", "LOOM_AGENT_NAMESPACE=team-a", "LOOM_CONFIG_DIR=/none"}

func assertLedgerLine(t *testing.T, line string) {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	entry := decode(t, []byte(line))
	at, err := time.Parse(time.RFC3339Nano, entry["time"].(string))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), at, deadline)
	delete(entry, "time")
	assert.Equal(t, map[string]any{"agent": "counted", "namespace": "team-a", "pod": host}, entry)
}

func TestEachStartIsPostedOnceBeforeAnythingElse(t *testing.T) {
	posts := make(chan string, 10)
	ledger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, http.MethodPost, r.Method)
		posts <- string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer ledger.Close()
	env := append([]string{"LEDGER_URL=" + ledger.URL}, ledgerEnv...)

	assert.Equal(t, 7, runAgent(t, env, "run", "--exit-code", "7").code)
	assert.Equal(t, exitUsage, runAgent(t, env, "a command that is not one").code)
	close(posts)
	var count int
	for line := range posts {
		count++
		assert.True(t, strings.HasSuffix(line, "}\n"), "one line")
		assertLedgerLine(t, line)
	}
	assert.Equal(t, 2, count)
}

func TestStartThatCannotBeRecordedIsNoStart(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer refusing.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer proxy.Close()
	for name, c := range map[string]struct {
		env     []string
		message string
	}{
		"the ledger refuses":         {[]string{"LEDGER_URL=" + refusing.URL}, "answered 503"},
		"the ledger is not there":    {[]string{"LEDGER_URL=" + gone.URL}, "connection refused"},
		"the URL is none":            {[]string{"LEDGER_URL=::"}, "LEDGER_URL"},
		"only a proxy would answer":  {[]string{"LEDGER_URL=http://ledger.invalid", "HTTP_PROXY=" + proxy.URL}, "ledger.invalid"},
		"the file cannot be opened":  {[]string{"LEDGER_FILE=/none/ledger"}, "no such file"},
		"the file cannot be written": {[]string{"LEDGER_FILE=/dev/full"}, "no space left"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runAgent(t, slices.Concat(c.env, ledgerEnv), "run")
			assert.Equal(t, exitLedger, got.code)
			assert.Empty(t, got.stdout, "nothing was run")
			assert.Contains(t, got.stderr, c.message)
		})
	}
}

func TestEachStartAddsOneLineToTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	env := append([]string{"LEDGER_FILE=" + file}, ledgerEnv...)
	for range 3 {
		assert.Zero(t, runAgent(t, env, "run").code)
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(content), "\n")
	require.Len(t, lines, 4)
	assert.Empty(t, lines[3])
	for _, line := range lines[:3] {
		assertLedgerLine(t, line)
	}
}

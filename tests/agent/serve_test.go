package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// served is an agent that serves, and its log from the second line on.
type served struct {
	address string
	log     *bufio.Reader
	signal  func(syscall.Signal)
	end     func() int
}

func serveAgent(t *testing.T, env []string, args ...string) served {
	t.Helper()
	cmd := agentCommand(t, append(env, "LOOM_PORT=0"), append([]string{"serve"}, args...)...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log := bufio.NewReader(stderr)
	address, isText := nextLine(t, log)["address"].(string)
	require.True(t, isText, "the first line of the log says where it serves")
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return served{
		address: "http://127.0.0.1:" + port,
		log:     log,
		signal:  func(s syscall.Signal) { require.NoError(t, cmd.Process.Signal(s)) },
		end:     func() int { return exitCode(t, cmd) },
	}
}

func nextLine(t *testing.T, log *bufio.Reader) map[string]any {
	t.Helper()
	line, err := log.ReadBytes('\n')
	require.NoError(t, err)
	return decode(t, line)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: deadline}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestServeAnswersLogsAndStops(t *testing.T) {
	dir := withDocument(t, `{"schema":"loom.agent/1","model":"fast","instructions":"help","sample":{"sleep":"1ms"}}`)
	agent := serveAgent(t, []string{
		"LOOM_CONFIG_DIR=" + dir, "LOOM_AGENT_NAME=helper", "LOOM_AGENT_NAMESPACE=team-a", "LOOM_MODE=serve",
	})
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{path: "/healthz", status: http.StatusOK, body: "ok\n"},
		{path: "/readyz", status: http.StatusOK, body: "ok\n"},
		{path: "/other", status: http.StatusNotFound, body: "404 page not found\n"},
	} {
		status, body := get(t, agent.address+c.path)
		assert.Equal(t, c.status, status, c.path)
		assert.Equal(t, c.body, body, c.path)
		line := nextLine(t, agent.log)
		assert.Equal(t, []any{"request", "GET", c.path, float64(c.status)},
			[]any{line["msg"], line["method"], line["path"], line["status"]})
	}
	status, body := get(t, agent.address)
	assert.Equal(t, http.StatusOK, status)
	described := decode(t, []byte(body))
	assert.Contains(t, described["files"], "agent.json")
	delete(described, "files")
	assert.Equal(t, map[string]any{
		"name": "helper", "namespace": "team-a", "mode": "serve", "version": "dev",
		"schema": "loom.agent/1", "model": "fast", "instructionsBytes": 4.0,
	}, described)

	agent.signal(syscall.SIGTERM)
	assert.Zero(t, agent.end(), "a service that was asked to stop ended well")
}

func TestServeThatWasToldAnExitCode(t *testing.T) {
	t.Run("ends with it by itself", func(t *testing.T) {
		agent := serveAgent(t, []string{"LOOM_CONFIG_DIR=" + withDocument(t, `{"sample":{"exitCode":7,"sleep":"50ms"}}`)})
		assert.Equal(t, 7, agent.end())
	})
	t.Run("ends with 0 when it is asked to stop before", func(t *testing.T) {
		agent := serveAgent(t, []string{"LOOM_CONFIG_DIR=" + t.TempDir()}, "--exit-code", "7", "--sleep", "1h")
		agent.signal(syscall.SIGTERM)
		assert.Zero(t, agent.end())
	})
}

func TestServeSaysThatItsPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + t.TempDir(), "LOOM_PORT=" + port}, "serve")
	assert.Equal(t, exitFailed, got.code)
	assert.Contains(t, got.stderr, "opening the port")
}

func TestRequestAtHandIsAnsweredBeforeTheServerStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusTeapot)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- answer(ctx, listener, slow) }()
	status := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			close(status)
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	<-arrived
	stop()
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			connection.Close()
		}
		return err != nil
	}, deadline, time.Millisecond, "a server that stops takes no new connection")
	close(release)
	assert.Equal(t, http.StatusTeapot, <-status)
	assert.NoError(t, <-stopped)
}

func TestOnlyReadsAreServed(t *testing.T) {
	recorder := httptest.NewRecorder()
	routes(description{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, recorder.Code)
}

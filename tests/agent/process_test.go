package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// asAgent makes the test program the agent itself, so that the tests see a
// real process with its exit code and its signals.
const asAgent = "TEST_RUNS_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		main()
	}
	os.Exit(m.Run())
}

// deadline is far longer than any process here should take.
const deadline = 20 * time.Second

// mounted writes the configuration folder that the runtime contract gives to
// an agent with this spec.
func mounted(t *testing.T, spec v1alpha1.LoomAgentSpec) string {
	t.Helper()
	dir := t.TempDir()
	if spec.Agent != nil {
		write(t, filepath.Join(dir, "agent.json"), string(spec.Agent.JSON()))
	}
	if spec.Routes != nil {
		write(t, filepath.Join(dir, "routes.json"), string(spec.Routes.Raw))
	}
	if spec.Schedule != nil {
		write(t, filepath.Join(dir, "input"), *spec.Schedule.Input.Text)
	}
	for _, file := range spec.ConfigFiles {
		write(t, filepath.Join(dir, "files", file.Name), file.Content)
	}
	return dir
}

func write(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

// withDocument is the configuration folder of an agent with this document.
func withDocument(t *testing.T, text string) string {
	t.Helper()
	return mounted(t, v1alpha1.LoomAgentSpec{Agent: v1alpha1.NewAgentDocument(text)})
}

// agentCommand is the agent as a process with nothing in its environment but
// env.
func agentCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{asAgent + "=1"}, env...)
	return cmd
}

type ended struct {
	code           int
	stdout, stderr string
}

// runAgent runs the agent to its end.
func runAgent(t *testing.T, env []string, args ...string) ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := agentCommand(t, env, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	return ended{code: exitCode(t, cmd), stdout: stdout.String(), stderr: stderr.String()}
}

// exitCode waits for the process to end by itself.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	watchdog := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() }) // Wait tells whether it ended
	defer watchdog.Stop()
	_ = cmd.Wait() // an exit code other than 0 is an answer here
	require.True(t, cmd.ProcessState.Exited(), "the agent was still there after %v: %v", deadline, cmd.ProcessState)
	return cmd.ProcessState.ExitCode()
}

// firstLine reads one line of JSON that the agent prints.
func firstLine(t *testing.T, output io.Reader) map[string]any {
	t.Helper()
	line, err := bufio.NewReader(output).ReadBytes('\n')
	require.NoError(t, err)
	return decode(t, line)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal(text, &object), "%s", text)
	return object
}

func TestArgumentsThatCannotBeUsedEndWithTwo(t *testing.T) {
	for name, args := range map[string][]string{
		"no command":                  {},
		"a command that is not one":   {"start"},
		"a flag that is not one":      {"run", "--exitcode", "7"},
		"an argument of run":          {"run", "7"},
		"an argument of serve":        {"serve", "now"},
		"an exit code over 255":       {"run", "--exit-code", "256"},
		"a negative exit code":        {"run", "--exit-code", "-1"},
		"an exit code that is a word": {"run", "--exit-code", "seven"},
		"a negative time to sleep":    {"run", "--sleep", "-1s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + t.TempDir()}, args...)
			assert.Equal(t, exitUsage, got.code)
			assert.Empty(t, got.stdout, "nothing was run")
			assert.Contains(t, got.stderr, "loom-agent: ")
		})
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	got := runAgent(t, nil, "--help")
	assert.Zero(t, got.code)
	assert.Equal(t, usage+"\n", got.stdout)
}

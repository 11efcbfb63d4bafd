package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/cli"
)

const (
	fixtures = "../../tests/fixtures/check"
	samples  = "../../config/samples"
)

// answer is what a command line gave.
type answer struct {
	code           int
	stdout, stderr string
}

func run(args ...string) answer {
	var stdout, stderr bytes.Buffer
	code := cli.Run("v1.2.3", args, &stdout, &stderr)
	return answer{code, stdout.String(), stderr.String()}
}

// runTo is run with a standard output of its own.
func runTo(stdout io.Writer, args ...string) int {
	return cli.Run("v1.2.3", args, stdout, io.Discard)
}

// write puts a document into a file of the test.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// feed makes a text the standard input of the test.
func feed(t *testing.T, text string) {
	t.Helper()
	file, err := os.Open(write(t, text))
	require.NoError(t, err)
	former := os.Stdin
	os.Stdin = file
	t.Cleanup(func() {
		os.Stdin = former
		require.NoError(t, file.Close())
	})
}

func glob(t *testing.T, pattern ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pattern...))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestCommandLine(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	for name, c := range map[string]struct {
		args []string
		code int
		// stdout and stderr are all of it when they end in a line break, else
		// a part of it.
		stdout, stderr string
	}{
		"version prints the version": {
			args: []string{"version"}, code: 0, stdout: "v1.2.3\n",
		},
		"version takes no argument": {
			args: []string{"version", "please"}, code: 2, stderr: `unknown command "please" for "loom-operator version"`,
		},
		"no command prints the help": {
			args: nil, code: 0, stdout: "Available Commands:",
		},
		"an unknown command": {
			args: []string{"destroy"}, code: 2, stderr: "loom-operator: unknown command \"destroy\" for \"loom-operator\"\n",
		},
		"an unknown flag": {
			args: []string{"check", "--file=a.yaml"}, code: 2, stderr: "loom-operator: unknown flag: --file\n",
		},
		"check of nothing": {
			args: []string{"check"}, code: 2, stderr: "loom-operator: name at least one file with -f\n",
		},
		"render of nothing": {
			args: []string{"render"}, code: 2, stderr: "loom-operator: name at least one file with -f\n",
		},
		"install takes no argument": {
			args: []string{"install", "now"}, code: 2, stderr: `unknown command "now"`,
		},
		"manager with a log level that does not exist": {
			args: []string{"manager", "--log-level=loud"}, code: 2, stderr: "loom-operator: --log-level is \"loud\"; use debug, info, warn or error\n",
		},
		"A39 manager with a log level that shows requests": {
			args: []string{"manager", "--log-level=debug-10"}, code: 2, stderr: "loom-operator: --log-level is \"debug-10\"; use debug, info, warn or error\n",
		},
		"manager without workers": {
			args: []string{"manager", "--workers=0"}, code: 2, stderr: "loom-operator: --workers is 0, at least 1 is needed\n",
		},
		"manager with workers that are no number": {
			args: []string{"manager", "--workers=many"}, code: 2, stderr: `invalid argument "many" for "--workers" flag`,
		},
		"manager with a limit below zero": {
			args: []string{"manager", "--kube-api-qps=-1"}, code: 2, stderr: "loom-operator: --kube-api-qps is -1, use 0 for no limit\n",
		},
		"manager takes no argument": {
			args: []string{"manager", "now"}, code: 2, stderr: `unknown command "now"`,
		},
		"manager without a cluster": {
			args: []string{"manager"}, code: 2, stderr: "loom-operator: find the cluster: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(c.args...)
			assert.Equal(t, c.code, got.code)
			assertText(t, c.stdout, got.stdout)
			assertText(t, c.stderr, got.stderr)
		})
	}
}

func assertText(t *testing.T, want, got string) {
	t.Helper()
	if want == "" || want[len(want)-1] == '\n' {
		assert.Equal(t, want, got)
		return
	}
	assert.Contains(t, got, want)
}

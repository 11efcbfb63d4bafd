package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// killAfter is how long a program that was interrupted has to end.
const killAfter = 10 * time.Second

// process is how a program is run.
type process struct {
	dir   string
	env   []string
	stdin io.Reader
	// stderr is where its messages go as they come. Without it they become
	// part of the error.
	stderr io.Writer
}

// run runs a program to its end and returns what it printed.
func run(ctx context.Context, p process, program string, args ...string) (string, error) {
	var stdout, messages bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.dir, p.stdin, &stdout, p.stderr
	cmd.Env = append(os.Environ(), p.env...)
	if p.stderr == nil {
		cmd.Stderr = &messages
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	if err := cmd.Run(); err != nil {
		return stdout.String(), failure(ctx, err, append([]string{program}, args...), messages.String())
	}
	return stdout.String(), nil
}

func failure(ctx context.Context, err error, command []string, messages string) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if messages = strings.TrimSpace(messages); messages != "" {
		return fmt.Errorf("%s: %w:\n%s", strings.Join(command, " "), err, messages)
	}
	return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
}

// Run runs kubectl in the root of the repository and returns what it prints; an
// error has its messages.
func (c Cluster) Run(ctx context.Context, args ...string) (string, error) {
	return c.Pipe(ctx, "", args...)
}

// Pipe runs kubectl with a text as its standard input.
func (c Cluster) Pipe(ctx context.Context, stdin string, args ...string) (string, error) {
	return run(ctx, process{dir: c.root, env: []string{"KUBECONFIG=" + c.Kubeconfig}, stdin: strings.NewReader(stdin)}, c.Kubectl, args...)
}

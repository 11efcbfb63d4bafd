package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// AgentImage is what the operator runs for agents that name no image.
const AgentImage = "registry.test/loom-agent:default"

// stopWithin is how long the operator may take to end: it lets the passes that
// have begun come to their end, 20 seconds at most.
const stopWithin = 30 * time.Second

// Operator is the operator as a process of its own.
type Operator struct {
	argv, env []string
	log       logBuffer
	cmd       *exec.Cmd
	ended     chan struct{}
	stopped   bool
}

// StartOperator runs the operator for the namespace of the test, with the
// permissions of config/rbac and nothing more. Further arguments follow the
// standard ones, so they win. At the end of the test it is stopped, and the
// test fails when it panicked or ended by itself.
func StartOperator(t testing.TB, cluster *Cluster, args ...string) *Operator {
	t.Helper()
	operator, err := RunOperator(context.Background(), cluster, t.TempDir(), cluster.Namespace(t), args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, operator.Close())
		if t.Failed() {
			t.Logf("the end of the operator's log:\n%s", operator.log.tail(80))
		}
	})
	return operator
}

// RunOperator runs the operator for namespaces, separated by commas; empty
// means all. Its files are in dir. Whoever calls it calls Close.
func RunOperator(ctx context.Context, cluster *Cluster, dir, namespaces string, args ...string) (*Operator, error) {
	binary := cluster.OperatorBinary
	if binary == "" {
		var err error
		if binary, err = build(ctx); err != nil {
			return nil, err
		}
	}
	kubeconfig := filepath.Join(dir, "operator.kubeconfig")
	if err := writeKubeconfig(kubeconfig, cluster.OperatorConfig); err != nil {
		return nil, err
	}
	standard := []string{binary, "manager", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--agent-image=" + AgentImage}
	operator := &Operator{
		argv: append(standard, args...),
		env:  append(os.Environ(), "KUBECONFIG="+kubeconfig, "WATCH_NAMESPACE="+namespaces),
	}
	return operator, operator.start()
}

func (o *Operator) start() error {
	o.cmd = exec.Command(o.argv[0], o.argv[1:]...)
	o.cmd.Env = o.env
	o.cmd.Stdout, o.cmd.Stderr = &o.log, &o.log
	// The process must not outlive a test that is killed.
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	o.ended, o.stopped = make(chan struct{}), false
	o.log.mark()
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // How it ended is read from cmd.ProcessState.
		close(ended)
	}(o.cmd, o.ended)
	return nil
}

// Process is the running process, for signals.
func (o *Operator) Process() *os.Process { return o.cmd.Process }

// Ended is closed when the process has ended.
func (o *Operator) Ended() <-chan struct{} { return o.ended }

// Stop ends the process as Kubernetes does, with SIGTERM, and waits for it.
func (o *Operator) Stop() error {
	o.stopped = true
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the operator: %w", err)
	}
	select {
	case <-o.ended:
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("the operator did not stop within %s", stopWithin), o.Kill())
	}
}

// Kill ends the process at once, with SIGKILL.
func (o *Operator) Kill() error {
	o.stopped = true
	if err := o.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-o.ended
	return nil
}

// Restart stops the process if it runs, and starts it again with the arguments
// it had and those that follow, which win.
func (o *Operator) Restart(args ...string) error {
	if err := o.Stop(); err != nil {
		return err
	}
	o.argv = append(o.argv, args...)
	return o.start()
}

// Close stops the process. It is an error when the process panicked at any
// time, or ended without having been asked to.
func (o *Operator) Close() error {
	var failed []error
	select {
	case <-o.ended:
		if !o.stopped {
			failed = append(failed, fmt.Errorf("the operator ended by itself: %s\n%s", o.cmd.ProcessState, o.log.tail(40)))
		}
	default:
		failed = append(failed, o.Stop())
	}
	if text := o.Log(); strings.Contains(text, "panic") {
		failed = append(failed, fmt.Errorf("the operator panicked:\n%s", o.log.around("panic")))
	}
	return errors.Join(failed...)
}

// Log is what the process has written so far, former starts included.
func (o *Operator) Log() string { return o.log.String() }

// Working waits until the process works on agents.
func (o *Operator) Working(t testing.TB) {
	t.Helper()
	Eventually(t, time.Minute, "the operator works on agents", func(context.Context) error {
		return o.working()
	})
}

// AwaitWorking is Working where there is no test.
func (o *Operator) AwaitWorking(ctx context.Context) error {
	return poll(ctx, time.Minute, func(context.Context) error { return o.working() })
}

func (o *Operator) working() error {
	if !strings.Contains(o.log.sinceMark(), `"Starting workers"`) {
		return fmt.Errorf("it has not started its workers; its log ends with:\n%s", o.log.tail(10))
	}
	return nil
}

var build = func() func(context.Context) (string, error) {
	var (
		once sync.Once
		path string
		err  error
	)
	return func(ctx context.Context) (string, error) {
		once.Do(func() { path, err = buildOperator(ctx) })
		return path, err
	}
}()

// buildOperator builds the operator of this tree. Packages of tests that run
// side by side replace each other's file, never one that is being executed.
func buildOperator(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, ".cache", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("build the operator: %w", err)
	}
	binary := filepath.Join(folder, "loom-operator")
	fresh := fmt.Sprintf("%s.%d", binary, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-o", fresh, ".")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w\n%s", err, bytes.TrimSpace(output))
	}
	if err := os.Rename(fresh, binary); err != nil {
		return "", fmt.Errorf("build the operator: %w", err)
	}
	return binary, nil
}

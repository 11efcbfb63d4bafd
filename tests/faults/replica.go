package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// replica is one operator process behind the proxy, kept running as a kubelet
// keeps a container.
type replica struct {
	mu       sync.Mutex
	operator *harness.Operator
	closed   bool
}

// startReplica starts replica number i for a namespace.
func startReplica(ctx context.Context, cluster *harness.Cluster, p *proxy, dir, namespace string, i int, args ...string) (*replica, error) {
	dir = filepath.Join(dir, strconv.Itoa(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	disturbed := *cluster
	disturbed.OperatorConfig = &rest.Config{Host: fmt.Sprintf("%s/%d", p.url, i)}
	operator, err := harness.RunOperator(ctx, &disturbed, dir, namespace, append([]string{"--workers=2"}, args...)...)
	if err != nil {
		return nil, err
	}
	return &replica{operator: operator}, nil
}

// keep starts the process again whenever it has ended, until ctx ends.
func (r *replica) keep(ctx context.Context, failed func(error)) {
	for pause(ctx, 100*time.Millisecond) {
		r.mu.Lock()
		select {
		case <-r.operator.Ended():
			if !r.closed {
				failed(r.operator.Restart())
			}
		default:
		}
		r.mu.Unlock()
	}
}

// crash kills the process, lets the world go on, and starts it again.
func (r *replica) crash(meanwhile func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if err := r.operator.Kill(); err != nil {
		return err
	}
	return errors.Join(meanwhile(), r.operator.Restart())
}

// freeze stops the process, not its end, while the world goes on.
func (r *replica) freeze(meanwhile func() error) error {
	process := r.operator.Process()
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze a replica: %w", err)
	}
	err := meanwhile()
	if going := process.Signal(syscall.SIGCONT); !errors.Is(going, os.ErrProcessDone) {
		err = errors.Join(err, going)
	}
	return err
}

// close ends the process. It is an error if it panicked at any time.
func (r *replica) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return errors.Join(r.operator.Kill(), r.operator.Close())
}

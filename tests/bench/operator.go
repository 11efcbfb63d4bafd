package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/beyond10x/loom-operator/tests/harness"
)

const (
	// resting is how long the operator is left alone while its memory is read:
	// longer than it keeps memory that is not in use.
	resting = 35 * time.Second
	// restarts may take this long.
	restarts = 5 * time.Minute
)

// operator is the operator's process and where its metrics are.
type operator struct {
	*harness.Operator
	metrics, pprof string
}

func startOperator(ctx context.Context, cluster *harness.Cluster, dir string) (*operator, error) {
	addresses, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	process, err := harness.RunOperator(ctx, cluster, dir, namespace,
		"--metrics-bind-address="+addresses[0], "--metrics-secure=false", "--pprof-bind-address="+addresses[1])
	if err != nil {
		return nil, err
	}
	o := &operator{Operator: process, metrics: "http://" + addresses[0] + "/metrics", pprof: "http://" + addresses[1] + "/debug/pprof/"}
	if err := o.AwaitWorking(ctx); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// who is what a trial needs to know of the operator.
func (o *operator) who(p *plane) who {
	return who{name: "operator", start: p.create, pid: o.Process().Pid, pprof: o.pprof}
}

// freeAddresses are loopback addresses that nobody listens on.
func freeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// atRest leaves the operator alone for a while and returns the least memory that
// it took meanwhile: what is more than that is waste which goes.
func (o *operator) atRest(ctx context.Context) (least memory, err error) {
	for range resting / time.Second {
		if err := pause(ctx, time.Second); err != nil {
			return memory{}, err
		}
		now, err := memoryOf(o.Process().Pid)
		if err != nil {
			return memory{}, err
		}
		if least.resident == 0 || now.resident < least.resident {
			least = now
		}
	}
	return least, nil
}

// again restarts the operator and returns how long it takes until it has
// looked at all n agents.
func (o *operator) again(ctx context.Context, n int) (time.Duration, error) {
	began := time.Now()
	if err := o.Restart(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, restarts)
	defer cancel()
	for {
		passes, err := o.passes(ctx)
		if err == nil && passes >= float64(n) {
			return time.Since(began), nil
		}
		if ended := pause(ctx, 50*time.Millisecond); ended != nil {
			return 0, fmt.Errorf("wait until %d agents were looked at, %v were: %w", n, passes, errors.Join(ended, err))
		}
	}
}

// passes counts the passes of the process so far.
func (o *operator) passes(ctx context.Context) (float64, error) {
	text, err := get(ctx, o.metrics)
	if err != nil {
		return 0, err
	}
	family, err := parseFamily(bytes.NewReader(text), "controller_runtime_reconcile_total")
	if err != nil {
		return 0, err
	}
	passes := 0.0
	for _, metric := range family.GetMetric() {
		passes += metric.GetCounter().GetValue()
	}
	return passes, nil
}

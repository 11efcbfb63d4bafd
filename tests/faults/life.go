package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const (
	// converges is how long a step may take once the faults have stopped.
	converges = time.Minute
	// silence without a write is taken for the end of a step.
	silence = 500 * time.Millisecond
)

// plan says which life is lived, where, and what goes wrong in it.
type plan struct {
	cluster   *harness.Cluster
	namespace string
	name      string
	replicas  int
	steps     []step
	// calm is how long a step may be disturbed.
	calm time.Duration
	// disturb is asked about every request of the operator; nil disturbs none.
	disturb func(*life, *exchange) bool
	// mishap happens in a step, next to what the operator does; nil is none.
	mishap func(context.Context, *life, step) error
	// expires lets Kubernetes remove a finished Job.
	expires bool
	// node runs the pods; nil leaves them to a player.
	node *node
}

// result is what a life showed.
type result struct {
	requests   []Request
	violations []string
	// slowest is how long the slowest step took, faults included.
	slowest time.Duration
	// reasons that Ready had.
	reasons []string
	// injected faults, in words.
	injected []string
}

// life is a life that is being lived.
type life struct {
	plan
	proxy      *proxy
	ledger     ledger
	witness    *witness
	replicas   []*replica
	uid        string
	generation int64 // that the person wrote last

	mu     sync.Mutex
	past   string          // resource version before the present step
	began  time.Time       // of the present step
	lost   map[string]bool // documents whose Job somebody took away
	noted  []string        // faults
	broken []string
}

// live lives a life to its end. It is an error when it could not begin.
func live(ctx context.Context, p plan) (result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &life{plan: p, witness: newWitness(p.cluster.Client, p.namespace, p.name), lost: map[string]bool{}}
	var err error
	l.proxy, err = newProxy(ctx, p.cluster.OperatorConfig, func(x *exchange) bool { return p.disturb != nil && p.disturb(l, x) })
	if err != nil {
		return result{}, err
	}
	dir, err := os.MkdirTemp("", "loom-faults-")
	if err != nil {
		return result{}, fmt.Errorf("begin a life: %w", err)
	}
	if p.node != nil {
		l.ledger = p.node.follow(ctx, p)
	} else {
		l.ledger = play(ctx, p)
	}
	l.witness.watch(ctx)
	slowest, err := l.lived(ctx, dir)
	for _, replica := range l.replicas {
		l.failed(replica.close())
	}
	err = errors.Join(err, l.proxy.close(), os.RemoveAll(dir))
	return result{requests: l.proxy.requests(), violations: l.violations(), slowest: slowest, reasons: l.witness.said(), injected: l.noted}, err
}

func (l *life) lived(ctx context.Context, dir string) (slowest time.Duration, err error) {
	if err := l.begin(ctx, "start"); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := l.start(ctx, dir); err != nil {
		return 0, err
	}
	slowest = time.Since(began)
	for _, s := range l.steps {
		if err := l.begin(ctx, s.name); err != nil {
			return slowest, err
		}
		began := time.Now()
		if err := l.take(ctx, s); err != nil {
			return slowest, err
		}
		var mishap error
		if l.mishap != nil {
			mishap = l.mishap(ctx, l, s)
		}
		look := func(ctx context.Context) error { return l.settled(ctx, s) }
		settled := await(ctx, converges+l.calm, look)
		if settled != nil && shaken() {
			settled = await(ctx, converges, look)
		}
		slowest = max(slowest, time.Since(began))
		if mishap != nil || settled != nil {
			l.failed(mishap)
			if settled != nil {
				l.failed(fmt.Errorf("step %q did not converge within %s: %w", s.name, converges, settled))
			}
			return slowest, nil
		}
		l.failed(await(ctx, converges/2, func(context.Context) error {
			if l.proxy.quiet() < silence {
				return fmt.Errorf("the operator still writes after step %q has converged", s.name)
			}
			return nil
		}))
		l.checkRun(s)
	}
	return slowest, nil
}

// start starts the replicas and waits until one works.
func (l *life) start(ctx context.Context, dir string) error {
	var args []string
	if l.node != nil {
		args = append(args, "--agent-image="+l.node.image)
	}
	if l.plan.replicas > 1 {
		args = append(args, "--leader-elect", "--leader-election-namespace="+l.namespace)
	}
	for i := range l.plan.replicas {
		r, err := startReplica(ctx, l.cluster, l.proxy, dir, l.namespace, i, args...)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.replicas = append(l.replicas, r)
		l.mu.Unlock()
		go r.keep(ctx, l.failed)
		if i == 0 {
			if err := r.operator.AwaitWorking(ctx); err != nil {
				l.failed(fmt.Errorf("the operator did not come up: %w", err))
			}
		}
	}
	return nil
}

// since is how long the present step goes on.
func (l *life) since() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.began)
}

// replica returns a replica that the start has noted by now.
func (l *life) replica(i int) (*replica, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i >= len(l.replicas) {
		return nil, fmt.Errorf("replica %d is not there yet", i)
	}
	return l.replicas[i], nil
}

// begin names the step for the requests to come and keeps what the world was.
func (l *life) begin(ctx context.Context, step string) error {
	now, err := l.now(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.past, l.began = now, time.Now()
	l.mu.Unlock()
	l.proxy.begin(step)
	return nil
}

// now is the present resource version of the cluster.
func (l *life) now(ctx context.Context) (version string, err error) {
	agents := &v1alpha1.LoomAgentList{}
	err = await(ctx, converges, func(ctx context.Context) error {
		return l.cluster.Client.List(ctx, agents, client.InNamespace(l.namespace), client.Limit(1))
	})
	return agents.ResourceVersion, err
}

// await calls look until it returns nil.
func await(ctx context.Context, limit time.Duration, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		err := look(ctx)
		// A look that the deadline cut short tells nothing new.
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		if err == nil || !pause(ctx, 50*time.Millisecond) {
			return last
		}
	}
}

// lose says that the Job of a document is taken away before its end may have
// been recorded.
func (l *life) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.steps {
		if s.name == l.proxy.present() && s.code != nil {
			l.lost[s.document()] = true
		}
	}
}

func (l *life) isLost(s step) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.code != nil && l.lost[s.document()]
}

// note keeps what is about to go wrong.
func (l *life) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noted = append(l.noted, fmt.Sprintf(format, args...))
}

// failed notes what must not be; nil is nothing.
func (l *life) failed(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, err.Error())
}

func (l *life) violations() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.broken, l.witness.violations(), l.proxy.creates.violations())
}

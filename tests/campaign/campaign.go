package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// campaign is what all trials share: a namespace with an operator, a view of
// it, and the twins.
type campaign struct {
	cluster   *harness.Cluster
	namespace string
	cache     cache.Cache
	audit     *audit
	parallel  int
	progress  io.Writer

	agents  atomic.Int64
	tried   atomic.Int64
	most    atomic.Int64 // writes for one change
	twins   sync.Map     // of *twin, by document
	mu      sync.Mutex
	general []string // violations that belong to no property
}

// run tries everything, and returns a row for each trial. Violations are in the
// rows; an error means that it could not run.
func run(ctx context.Context, cluster *harness.Cluster, trials []trial, parallel int, progress io.Writer) (rows []row, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &campaign{cluster: cluster, parallel: parallel, progress: progress}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.cleanUp()) }()
	operator, err := c.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	rows, err = c.tryAll(ctx, trials)
	if ended := operator(); ended != nil {
		c.report(ended.Error())
	}
	fmt.Fprintf(progress, "at most %d writes of the operator for one change\n", c.most.Load())
	if len(c.general) > 0 {
		rows = append(rows, row{property: "(the operator)", violations: c.general})
	}
	return rows, err
}

func (c *campaign) tryAll(ctx context.Context, trials []trial) ([]row, error) {
	rows := make([]row, len(trials))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.parallel)
	began := time.Now()
	for i, t := range trials {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var err error
			rows[i], err = c.try(ctx, t)
			for _, violation := range rows[i].violations {
				fmt.Fprintf(c.progress, "VIOLATION %s\n", violation)
			}
			if n := c.tried.Add(1); n%20 == 0 || int(n) == len(trials) {
				fmt.Fprintf(c.progress, "%d of %d trials after %s\n", n, len(trials), time.Since(began).Round(time.Second))
			}
			return err
		})
	}
	return rows, group.Wait()
}

// report notes a violation that belongs to no property.
func (c *campaign) report(violation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.general = append(c.general, violation)
}

// prepare makes the namespace and what documents may name in it.
func (c *campaign) prepare(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "campaign-"}}
	if err := c.cluster.Client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("make a namespace: %w", err)
	}
	c.namespace = namespace.Name
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "other"}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: classes}, Value: 1},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: classes}, Handler: "runc"},
	} {
		if err := c.cluster.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("make a %T: %w", object, err)
		}
	}
	var err error
	if c.audit, err = follow(ctx, c.cluster, c.namespace); err != nil {
		return err
	}
	return c.watch(ctx)
}

// watch opens a view of the namespace, so that looking costs the API server
// nothing.
func (c *campaign) watch(ctx context.Context) error {
	view, err := cache.New(c.cluster.Config, cache.Options{Scheme: c.cluster.Client.Scheme(), DefaultNamespaces: map[string]cache.Config{c.namespace: {}}})
	if err != nil {
		return fmt.Errorf("watch the namespace: %w", err)
	}
	for _, kind := range append(children.Workloads(), children.Attachments()...) {
		if err := view.IndexField(ctx, kind, children.OwnerIndex, children.Owner); err != nil {
			return fmt.Errorf("watch the namespace: %w", err)
		}
	}
	c.cache = view
	if err := c.playKubelet(ctx); err != nil {
		return err
	}
	go func() {
		if err := view.Start(ctx); err != nil && ctx.Err() == nil {
			c.report(fmt.Sprintf("the view of the namespace ended: %v", err))
		}
	}()
	if !view.WaitForCacheSync(ctx) {
		return fmt.Errorf("watch the namespace: %w", context.Cause(ctx))
	}
	return nil
}

// startOperator returns what ends the operator and judges how it was.
func (c *campaign) startOperator(ctx context.Context) (func() error, error) {
	dir, err := os.MkdirTemp("", "loom-campaign-")
	if err != nil {
		return nil, err
	}
	operator, err := harness.RunOperator(ctx, c.cluster, dir, c.namespace)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	end := func() error {
		err := errors.Join(operator.Close(), os.RemoveAll(dir))
		if strings.Contains(operator.Log(), "Observed a panic") {
			err = errors.Join(err, errors.New("the operator has caught a panic"))
		}
		return err
	}
	if err := operator.AwaitWorking(ctx); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

func (c *campaign) cleanUp() error {
	return c.cluster.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
}

// interval is the time between two looks.
const interval = 50 * time.Millisecond

// pause waits for the next look. It is false when there is none.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(interval):
		return true
	}
}

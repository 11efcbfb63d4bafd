package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// restartDelay is how soon a pass is repeated that worked on an old version of the object: long enough for the
	// cache to catch up in most cases.
	restartDelay = 200 * time.Millisecond
	// statusBudget bounds the status write, which does not share the handlers' deadline.
	statusBudget = 10 * time.Second
	// rememberedWrites and catchUp bound the memory of what was written. A cache that lags longer causes conflicts only.
	rememberedWrites = 4096
	catchUp          = time.Minute
)

// Controller runs a validated pipeline. It is safe for concurrent passes over different objects.
type Controller[T client.Object] struct {
	name      string
	config    config
	run       Handler[T]
	summarize func(*Pass[T], Outcome)
	client    client.Client
	live      client.Reader
	reports   bool
	recorder  *recorder

	written *cache.LRUExpireCache // versions that passes wrote, by UID

	discovered sync.Mutex
	separate   *bool
}

func newController[T client.Object](name string, cfg config, run Handler[T], summarize func(*Pass[T], Outcome), c client.Client, live client.Reader) *Controller[T] {
	_, reports := any(newObject[T]()).(Reporter)
	if cfg.report != nil {
		reports = *cfg.report
	}
	return &Controller[T]{
		name: name, config: cfg, run: run, summarize: summarize, client: c, live: live, reports: reports,
		recorder: newRecorder(name, cfg, c), written: cache.NewLRUExpireCacheWithClock(rememberedWrites, cfg.clock),
	}
}

// Reconcile runs one pass over obj, which is usually read from a cache and is not changed. It implements
// reconcile.ObjectReconciler, so that a caller can dispatch one queue to several controllers.
//
// It returns an error for failures only. A conflict with another writer is no failure: the pass is repeated soon.
func (c *Controller[T]) Reconcile(ctx context.Context, obj T) (reconcile.Result, error) {
	if !obj.GetDeletionTimestamp().IsZero() && !c.config.deletion {
		return reconcile.Result{}, nil
	}
	if c.behind(obj) {
		return reconcile.Result{RequeueAfter: restartDelay}, nil
	}
	pass, err := c.newPass(obj)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = c.work(ctx, pass)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return reconcile.Result{}, ctx.Err()
	}
	if stale(err) {
		return reconcile.Result{RequeueAfter: restartDelay}, nil
	}
	return c.finish(context.WithoutCancel(ctx), pass, pass.outcome(err))
}

// remember keeps the version of obj that a pass wrote.
func (c *Controller[T]) remember(obj T) {
	c.written.Add(obj.GetUID(), obj.GetResourceVersion(), catchUp)
}

// behind tells whether obj is older than what an earlier pass wrote: the cache has not caught up. A pass over it would
// see its own report missing and end in a conflict.
func (c *Controller[T]) behind(obj T) bool {
	written, ok := c.written.Get(obj.GetUID())
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), written.(string))
	return err == nil && order < 0
}

func (c *Controller[T]) newPass(obj T) (*Pass[T], error) {
	pass := &Pass[T]{
		controller: c, now: c.config.clock.Now(), generation: obj.GetGeneration(),
		base: obj, object: clone(obj), staged: clone(obj),
		reached: []words{{}}, values: map[reflect.Type]any{}, set: map[string]bool{},
	}
	if c.reports {
		separate, err := c.subresource()
		if err != nil {
			return nil, err
		}
		if !separate {
			// Each status write counts as a new generation, so a report of the one examined would never end.
			pass.generation = 0
		}
	}
	return pass, nil
}

// work runs the handlers, and saves the object when they asked for it.
func (c *Controller[T]) work(ctx context.Context, pass *Pass[T]) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.timeout)
	defer cancel()
	err := c.guard(ctx, pass, func() error { return c.run(ctx, pass) })
	if pass.fault != nil {
		return errors.Join(pass.fault, err)
	}
	if err != nil && ctx.Err() != nil && !worded(err) {
		return &timeoutError{err: err, after: c.config.timeout}
	}
	if err != nil || !pass.save {
		return err
	}
	return pass.saveObject(ctx)
}

// guard turns a panic into an error of this object. The stack goes to the log only.
func (c *Controller[T]) guard(ctx context.Context, pass *Pass[T], f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{value: r}
			log.FromContext(ctx).Error(err, "Handler panicked", "stage", pass.stage(), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// finish reports the outcome: it writes the status, then sends the Events. It has a time budget of its own, so that a
// handler that used up its deadline is reported, and a shutdown cannot cut the report in half.
func (c *Controller[T]) finish(ctx context.Context, pass *Pass[T], outcome Outcome) (reconcile.Result, error) {
	outcome = c.summary(ctx, pass, outcome)
	statusCtx, cancel := context.WithTimeout(ctx, statusBudget)
	defer cancel()
	written, err := c.writeStatus(statusCtx, pass)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: restartDelay}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // The object is gone, and its status with it.
	case err != nil:
		if outcome.failed() {
			log.FromContext(ctx).Error(outcome.Err, "Handler failed, and its report too", "stage", outcome.Stage)
		}
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	}
	if written {
		c.remember(pass.staged)
	}
	c.recorder.flush(ctx, pass.base, append(pass.events, c.automaticEvents(pass, outcome)...))
	if written || pass.writes > 0 {
		log.FromContext(ctx).Info("Reconciled", "outcome", outcome.Kind, "stage", outcome.Stage, "reason", outcome.Reason, "statusWritten", written, "otherWrites", pass.writes)
	}
	return c.result(pass, outcome)
}

// summary stages the conditions of the outcome and lets the summary hook add its own. A hook that fails makes the pass
// fail.
func (c *Controller[T]) summary(ctx context.Context, pass *Pass[T], outcome Outcome) Outcome {
	if c.reports {
		pass.report(outcome)
	}
	if c.summarize != nil {
		err := c.guard(ctx, pass, func() error { c.summarize(pass, outcome); return nil })
		if err = cmp.Or(err, pass.fault); err != nil && !outcome.failed() {
			outcome = pass.outcome(err)
			if c.reports {
				pass.report(outcome)
			}
		}
	}
	if c.reports {
		pass.finishStatus(c.config.retired)
	}
	return outcome
}

// result tells the queue what comes next.
func (c *Controller[T]) result(pass *Pass[T], outcome Outcome) (reconcile.Result, error) {
	switch outcome.Kind {
	case Succeeded:
		return reconcile.Result{RequeueAfter: cmp.Or(pass.after, c.config.every)}, nil
	case Waiting:
		return reconcile.Result{RequeueAfter: outcome.After}, nil
	case Stopped:
		return reconcile.Result{RequeueAfter: pass.after}, nil
	default:
		return reconcile.Result{}, outcome.Err
	}
}

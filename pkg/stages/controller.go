package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/apply"
)

const (
	// restartDelay is how soon a pass is repeated that worked on an old version of the object: long enough for the
	// cache to catch up in most cases.
	restartDelay = 200 * time.Millisecond
	// patience is how many passes in a row may be repeated quietly. A cache that lags has caught up by then, so what
	// answers with a conflict is something else, such as an admission webhook, and has to be reported.
	patience = 50
	// statusBudget bounds the status write, which does not share the handlers' deadline.
	statusBudget = 10 * time.Second
	// remembered bounds the memory of the process. What is forgotten costs a needless look or Event, no other write.
	remembered = 16384
	// catchUp is how long a cache may lag behind the own writes. One that lags longer causes conflicts only.
	catchUp = time.Minute
)

// restart repeats the pass quietly.
var restart = reconcile.Result{RequeueAfter: restartDelay}

// Controller runs validated stages. It is safe for concurrent passes over different objects.
type Controller[T client.Object] struct {
	config
	host        string
	steps       []*Stage[T]
	conditions  []string // of the steps; Ready without stages
	summarize   func(*Pass[T], Outcome)
	client      client.Client
	live        client.Reader
	children    *apply.Applier
	reports     bool
	subresource bool // the API has one for the status

	// memory has the version of each primary that a pass wrote, by UID; how often a pass was repeated (see restarts);
	// and the Events that were sent.
	memory *cache.LRUExpireCache
}

// Reconcile runs one pass over obj, which is usually read from a cache and is not changed. It implements
// reconcile.ObjectReconciler, so that a caller can dispatch one queue to several controllers.
//
// It returns an error for failures only. A conflict with another writer is no failure: the pass is repeated soon.
func (c *Controller[T]) Reconcile(ctx context.Context, obj T) (reconcile.Result, error) {
	if !obj.GetDeletionTimestamp().IsZero() && !c.withDeletion {
		return reconcile.Result{}, nil
	}
	if c.behind(obj) {
		return restart, nil
	}
	pass := newPass(c, obj)
	err := c.work(ctx, pass)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return reconcile.Result{}, ctx.Err()
	}
	if stale(err) && c.again(obj) {
		return restart, nil
	}
	return c.finish(context.WithoutCancel(ctx), pass, pass.outcome(err))
}

// restarts is a primary's UID in the memory, which has how many passes in a row were repeated.
type restarts types.UID

// again counts a pass that ended in a conflict, and tells whether it is to be repeated quietly.
func (c *Controller[T]) again(obj T) bool {
	key := restarts(obj.GetUID())
	before, _ := c.memory.Get(key)
	count, _ := before.(int)
	c.memory.Add(key, count+1, rememberFor)
	return count < patience
}

// behind tells whether obj is older than what an earlier pass wrote: the cache has not caught up. A pass over it would
// see its own report missing and end in a conflict.
func (c *Controller[T]) behind(obj T) bool {
	written, _ := c.memory.Get(obj.GetUID())
	version, _ := written.(string)
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), version)
	return version != "" && err == nil && order < 0
}

// work runs the stages one after another.
func (c *Controller[T]) work(ctx context.Context, pass *Pass[T]) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for _, s := range c.steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("not begun after %s: %w", c.timeout, err)
		}
		pass.said = Outcome{}
		err := guard(ctx, func() error { return s.Handler(ctx, pass) })
		if _, worded := errors.AsType[answer](err); err != nil && ctx.Err() != nil && !worded {
			err = fmt.Errorf("not finished after %s: %w", c.timeout, errors.Join(context.DeadlineExceeded, err))
		}
		if err != nil {
			return err
		}
		said, usual := pass.said, "The object is reconciled."
		if s.Condition != "" {
			usual = fmt.Sprintf("Stage %q succeeded.", s.Condition)
		}
		pass.reached = append(pass.reached, Outcome{
			Kind: Succeeded, Reason: cleanReason(said.Reason, string(Succeeded)), Message: cmp.Or(said.Message, usual),
		})
	}
	return nil
}

// guard turns a panic into an error. The stack goes to the log only.
func guard(ctx context.Context, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
			log.FromContext(ctx).Error(err, "Handler panicked", "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// finish reports the outcome: it writes the status, then sends the Events. It has a time budget of its own, so that a
// handler that used up its deadline is reported, and a shutdown cannot cut the report in half.
func (c *Controller[T]) finish(ctx context.Context, pass *Pass[T], outcome Outcome) (reconcile.Result, error) {
	pass.report(outcome)
	err := guard(ctx, func() error { c.summarize(pass, outcome); return nil })
	if err != nil && !outcome.failed() {
		outcome = pass.outcome(err)
		pass.report(outcome)
	}
	pass.complete()
	written, err := c.writeStatus(ctx, pass)
	switch {
	case apierrors.IsConflict(err) && c.again(pass.base):
		return restart, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // The object is gone, and its status with it.
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("write the status of %s: %w", answer{outcome}.Error(), err)
	}
	if !stale(outcome.Err) {
		c.memory.Remove(restarts(pass.base.GetUID()))
	}
	c.sendEvents(ctx, pass, outcome)
	if written || pass.writes > 0 {
		log.FromContext(ctx).Info("Reconciled", "outcome", outcome.Kind, "stage", outcome.Stage, "reason", outcome.Reason, "statusWritten", written, "otherWrites", pass.writes)
	}
	if outcome.failed() {
		return reconcile.Result{}, outcome.Err
	}
	return reconcile.Result{RequeueAfter: outcome.After}, nil
}

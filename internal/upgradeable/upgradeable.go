// Package upgradeable tells the Operator Lifecycle Manager when the operator
// may be upgraded, by the condition Upgradeable of its OperatorCondition:
// https://olm.operatorframework.io/docs/advanced-tasks/communicating-operator-conditions-to-olm/.
//
// OLM makes the OperatorCondition, names it in the environment variable
// OPERATOR_CONDITION_NAME and grants access to it. Without that variable, as
// under OLM v1 or kubectl, nothing here does anything.
package upgradeable

import (
	"context"
	"fmt"
	"os"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const variable = "OPERATOR_CONDITION_NAME"

// Setup keeps the condition up to date while the manager leads. The client
// that writes it reads past the cache: OLM lets the operator get its own
// OperatorCondition and list none.
func Setup(mgr manager.Manager) error {
	if os.Getenv(variable) == "" {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("know the OperatorCondition: %w", err)
	}
	writer, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("make a client for the OperatorCondition: %w", err)
	}
	condition, err := conditions.InClusterFactory{Client: writer}.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	if err != nil {
		return fmt.Errorf("find the OperatorCondition: %w", err)
	}
	return Reporter{Agents: mgr.GetClient(), Condition: condition}.start(mgr)
}

// Reporter writes the verdict over all agents into the condition.
type Reporter struct {
	// Agents lists the agents that the operator looks after, from its cache.
	Agents client.Reader
	// Condition is the condition Upgradeable.
	Condition conditions.Condition
}

// calm is how long an upgrade stays held back after the last reason has gone.
// A create is open for a moment only, and without the wait the condition would
// be written twice for each.
const calm = 5 * time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// all stands for every agent: there is one condition, and one verdict.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}

func (r Reporter) start(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("upgradeable").
		WatchesRawSource(source.Func(first)).
		Watches(&v1alpha1.LoomAgent{}, turns()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watch the agents for the OperatorCondition: %w", err)
	}
	return nil
}

// first asks for a verdict at the start, also when there is no agent.
func first(_ context.Context, q queue) error {
	q.Add(all)
	return nil
}

// turns asks for a verdict when an agent begins to hold an upgrade back, and a
// while after it has stopped to.
func turns() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { turn(q, "", holds(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { turn(q, holds(e.ObjectOld), holds(e.ObjectNew)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { turn(q, holds(e.Object), "") },
	}
}

func turn(q queue, before, after string) {
	switch {
	case before == after:
	case after == "":
		q.AddAfter(all, calm)
	default:
		q.Add(all)
	}
}

func holds(object client.Object) string {
	if agent, ok := object.(*v1alpha1.LoomAgent); ok {
		return reasonOf(agent)
	}
	return ""
}

// Reconcile writes the verdict when it is another one than before. A conflict
// is tried again by the queue.
func (r Reporter) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	agents := &v1alpha1.LoomAgentList{}
	if err := r.Agents.List(ctx, agents, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the agents: %w", err)
	}
	verdict := Judge(agents.Items)
	// An error of Get also means that the condition is not there yet. Set
	// reads again and reports a real one.
	if now, err := r.Condition.Get(ctx); err == nil && verdict.same(now) {
		return reconcile.Result{}, nil
	}
	if err := r.Condition.Set(ctx, verdict.Status, conditions.WithReason(verdict.Reason), conditions.WithMessage(verdict.Message)); err != nil {
		return reconcile.Result{}, fmt.Errorf("write the condition %s: %w", apiv2.Upgradeable, err)
	}
	return reconcile.Result{}, nil
}

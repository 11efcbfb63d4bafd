// Package controllers runs the controllers of LoomAgents on one queue.
//
// There are three controllers, one for each way to run an agent. They share a
// queue, so that passes over one agent never overlap, not even while a change
// of its document hands it from one controller to another (docs/decisions/0002).
package controllers

import (
	"context"
	"fmt"
	"maps"
	"time"

	operatorhandler "github.com/operator-framework/operator-lib/handler"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/controllers/agentserve"
	"github.com/beyond10x/loom-operator/controllers/command"
	"github.com/beyond10x/loom-operator/controllers/scheduled"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/gather"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Options are what the process decides for all agents.
type Options struct {
	// AgentImage runs agents that name no image.
	AgentImage string
	// Namespaces to look after; empty means all.
	Namespaces []string
	// Workers is how many agents are worked on at once.
	Workers int
}

// Setup registers the controllers with a manager whose cache was made with
// CacheOptions.
func Setup(ctx context.Context, mgr manager.Manager, options Options) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	router, err := newRouter(mgr, options)
	if err != nil {
		return err
	}
	primary := &operatorhandler.InstrumentedEnqueueRequestForObject[client.Object]{}
	b := builder.ControllerManagedBy(mgr).Named("loomagent").
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Workers, RateLimiter: stages.RateLimiter()}).
		Watches(&v1alpha1.LoomAgent{}, primary, builder.WithPredicates(predicate.Or(moreThanMarks(), lostRecord())))
	own(b, mgr)
	if err := watchReferences(b, mgr, options.Namespaces); err != nil {
		return err
	}
	return b.Complete(reconcile.AsReconciler(mgr.GetClient(), router))
}

// lostRecord passes updates that took the record out of the status, as a backup
// tool does that restores an object in place.
func lostRecord() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*v1alpha1.LoomAgent)
		is, also := e.ObjectNew.(*v1alpha1.LoomAgent)
		return ok && also && journal.Record(was) != nil && journal.Record(is) == nil
	}, CreateFunc: no[event.CreateEvent], DeleteFunc: no[event.DeleteEvent], GenericFunc: no[event.GenericEvent]}
}

func no[E any](E) bool { return false }

// moreThanMarks drops updates that change nothing but the status or the marks of
// the create guard, which the operator writes itself: they must not cut the back-off short
// of a Job that the API server refuses again and again. Where a person removes
// a mark, the next try sees it.
func moreThanMarks() predicate.Predicate {
	unmarked := func(obj client.Object) map[string]string {
		annotations := maps.Clone(obj.GetAnnotations())
		delete(annotations, v1alpha1.CreatePendingAnnotation)
		delete(annotations, v1alpha1.RunAnnotation)
		return annotations
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		same := e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() &&
			e.ObjectOld.GetDeletionTimestamp().Equal(e.ObjectNew.GetDeletionTimestamp()) &&
			maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) &&
			maps.Equal(unmarked(e.ObjectOld), unmarked(e.ObjectNew))
		return !same || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	}}
}

// router hands an agent to the controller of its kind.
type router struct {
	serve, command, scheduled *stages.Controller[*v1alpha1.LoomAgent]
}

func newRouter(mgr manager.Manager, options Options) (router, error) {
	in := intake.Intake{
		DefaultImage: options.AgentImage,
		Client:       mgr.GetClient(),
		Live:         mgr.GetAPIReader(),
		Children:     children.Remover{Client: mgr.GetClient()},
	}
	var r router
	for target, b := range map[**stages.Controller[*v1alpha1.LoomAgent]]*intake.Controller{
		&r.serve: agentserve.New(in), &r.command: command.New(in), &r.scheduled: scheduled.New(in),
	} {
		built, err := b.Build(mgr.GetClient(), mgr.GetAPIReader())
		if err != nil {
			return router{}, fmt.Errorf("build the controllers: %w", err)
		}
		*target = built
	}
	return r, nil
}

// drain is how long a pass that has begun may go on after the process was told
// to stop: a pass cut in half leaves more to find out for the next one.
const drain = 12 * time.Second

// Reconcile runs one pass over the agent.
func (r router) Reconcile(ctx context.Context, agent *v1alpha1.LoomAgent) (reconcile.Result, error) {
	draining, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drain, cancel) })
	defer stop()
	return r.route(draining, agent)
}

func (r router) route(ctx context.Context, agent *v1alpha1.LoomAgent) (reconcile.Result, error) {
	switch {
	case agent.Spec.Schedule != nil:
		return r.scheduled.Reconcile(ctx, agent)
	case agent.Variant() == v1alpha1.Command:
		return r.command.Reconcile(ctx, agent)
	default:
		return r.serve.Reconcile(ctx, agent)
	}
}

// own wakes an agent when one of its children, or a pod of theirs, changes. A
// pod, and a Job of a CronJob, is not controlled by the agent and is known by
// its label.
func own(b *builder.Builder, mgr manager.Manager) {
	changed := builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.LoomAgent{}, handler.OnlyControllerOwner())
	for _, child := range append(children.Workloads(), children.Attachments()...) {
		b.Watches(child, owner, changed)
	}
	labeled := handler.EnqueueRequestsFromMapFunc(gather.AgentsOf(mgr.GetClient()))
	for _, descendant := range []client.Object{&batchv1.Job{}, &corev1.Pod{}} {
		b.Watches(descendant, labeled, changed)
	}
}

func watchReferences(b *builder.Builder, mgr manager.Manager, namespaces []string) error {
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("watch references: %w", err)
	}
	for _, kind := range gather.Kinds() {
		b.WatchesRawSource(gather.Watch{Metadata: metadataClient, Agents: mgr.GetClient(), Kind: kind, Namespaces: namespaces})
	}
	return nil
}

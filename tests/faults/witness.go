package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// witness sees every version of the agent and its Jobs, past the proxy, and
// remembers what must never have been.
type witness struct {
	client.WithWatch
	namespace, name string

	mu      sync.Mutex
	last    *v1alpha1.LoomAgent // nil while there is none
	reasons []string            // of Ready, each once
	resumed map[types.UID]bool
	broken  []string
	gap     bool // versions were missed
	wiped   bool // somebody is taking the status away
	unbound bool // the record of the running Job may be gone
}

func newWitness(c client.WithWatch, namespace, name string) *witness {
	return &witness{WithWatch: c, namespace: namespace, name: name, resumed: map[types.UID]bool{}}
}

func (w *witness) watch(ctx context.Context) {
	go follow(ctx, w, &v1alpha1.LoomAgentList{}, w.namespace, func(event watch.EventType, object client.Object) {
		if object.GetName() == w.name {
			w.sawAgent(ctx, event, object.(*v1alpha1.LoomAgent))
		}
	}, w.forgive)
	go follow(ctx, w, &batchv1.JobList{}, w.namespace, func(event watch.EventType, object client.Object) {
		if event != watch.Deleted {
			w.sawJob(ctx, object.(*batchv1.Job))
		}
	}, func() {})
}

// forgive lets the next version of the agent be any, or none.
func (w *witness) forgive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gap, w.last = true, nil
}

// wipes says that the status is about to be taken away.
func (w *witness) wipes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wiped, w.unbound = true, true
}

func (w *witness) sawAgent(ctx context.Context, event watch.EventType, agent *v1alpha1.LoomAgent) {
	w.mu.Lock()
	former := w.last
	if event == watch.Deleted {
		w.last = nil
		w.mu.Unlock()
		return
	}
	if former != nil && former.ResourceVersion == agent.ResourceVersion {
		w.mu.Unlock()
		return
	}
	w.last = agent
	if ready, ok := stages.GetCondition(agent, v1alpha1.ConditionReady); ok && !slices.Contains(w.reasons, ready.Reason) {
		w.reasons = append(w.reasons, ready.Reason)
	}
	wiped := w.wiped && agent.Status.ObservedGeneration == 0
	if !w.gap && !wiped {
		w.broken = append(w.broken, judge(former, agent)...)
	}
	w.gap, w.wiped = false, w.wiped && !wiped
	w.mu.Unlock()
	if agent.Status.Run != nil && (former == nil || former.Status.Run == nil) {
		w.checkVerdict(ctx, agent)
	}
}

// checkVerdict wants the Job of a recorded end to have ended (case A38).
func (w *witness) checkVerdict(ctx context.Context, agent *v1alpha1.LoomAgent) {
	if agent.Status.Workload == nil {
		return
	}
	job := &batchv1.Job{}
	err := w.Get(ctx, client.ObjectKey{Namespace: agent.Namespace, Name: agent.Status.Workload.Name}, job)
	if err == nil && job.UID == agent.Status.Workload.UID && !observe.Ended(job) && job.DeletionTimestamp.IsZero() {
		w.breaks("the end of Job %s was recorded before Kubernetes said how the Job ended", job.Name)
	}
}

// sawJob wants a Job that may run to be the recorded one of its generation.
func (w *witness) sawJob(ctx context.Context, job *batchv1.Job) {
	owner := metav1.GetControllerOf(job)
	if owner == nil || owner.Kind != "LoomAgent" || owner.Name != w.name || job.Spec.Suspend != nil && *job.Spec.Suspend {
		return
	}
	w.mu.Lock()
	known := w.resumed[job.UID] || w.unbound
	w.resumed[job.UID] = true
	w.mu.Unlock()
	if known {
		return
	}
	agent := &v1alpha1.LoomAgent{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: w.name}, agent); err != nil {
		return // Gone, and its record with it.
	}
	if fmt.Sprint(agent.Generation) != job.Annotations[v1alpha1.GenerationAnnotation] || agent.UID != owner.UID {
		return
	}
	if agent.Status.Workload == nil || agent.Status.Workload.UID != job.UID {
		w.breaks("Job %s may run, and its UID is not recorded", job.Name)
	}
}

func (w *witness) breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// agent is the newest version; nil when there is none.
func (w *witness) agent() *v1alpha1.LoomAgent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// said lists the reasons that Ready had.
func (w *witness) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.reasons)
}

func (w *witness) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.broken)
}

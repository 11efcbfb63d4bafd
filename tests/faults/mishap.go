package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// mishap is something that others do to the cluster while a step goes on.
type mishap struct {
	name string
	// happens tells in which steps.
	happens func(step) bool
	// oneIn tells how often it happens where it is drawn.
	oneIn int
	do    func(ctx context.Context, l *life) error
}

func inAnyStep(s step) bool { return s.spec != nil }
func inRun(s step) bool     { return s.code != nil && !s.tick }

// mishaps of a control plane. The restarts disturb every life that goes on, and
// take long.
func mishaps() []mishap {
	return []mishap{
		{name: "Job deleted by hand", happens: inRun, oneIn: 2, do: func(ctx context.Context, l *life) error {
			l.lose()
			return l.removeJobs(ctx)
		}},
		{name: "status wiped", happens: inAnyStep, oneIn: 2, do: wipe},
		{name: "node drained", happens: inAnyStep, oneIn: 2, do: drain},
		{name: "API server restarted", happens: inAnyStep, oneIn: 30, do: restart("kube-apiserver")},
		{name: "etcd restarted", happens: inAnyStep, oneIn: 30, do: restart("etcd")},
	}
}

// wipe takes the status away, as a backup tool does that restores an object in
// place.
func wipe(ctx context.Context, l *life) error {
	l.lose()
	l.witness.wipes()
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
	err := await(ctx, converges, func(ctx context.Context) error {
		return client.IgnoreNotFound(l.cluster.Client.Status().Patch(ctx, agent, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/status","value":{}}]`))))
	})
	pause(ctx, silence) // Until the witness has seen it.
	return err
}

// drain evicts the agent's pods. That of a run takes the run with it.
func drain(ctx context.Context, l *life) error {
	pods := &corev1.PodList{}
	if err := await(ctx, converges, func(ctx context.Context) error {
		return l.cluster.Client.List(ctx, pods, client.InNamespace(l.namespace))
	}); err != nil {
		return err
	}
	var failed []error
	for _, pod := range pods.Items {
		l.lose() // Also where it comes too late to be evicted.
		err := l.cluster.Client.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{})
		failed = append(failed, client.IgnoreNotFound(err))
	}
	return errors.Join(failed...)
}

// restarting lets one restart come after the other. restarted is when the last
// one began or ended, in nanoseconds since 1970.
var (
	restarting sync.Mutex
	restarted  atomic.Int64
)

// shaken tells whether the control plane was restarted so lately that the
// controllers of Kubernetes may still be coming back: their clients wait for up
// to half a minute before they try again.
func shaken() bool { return time.Since(time.Unix(0, restarted.Load())) < 2*converges }

// restart stops a component of the control plane and starts it again.
func restart(component string) func(context.Context, *life) error {
	return func(ctx context.Context, l *life) error {
		restarting.Lock()
		defer restarting.Unlock()
		note := func() { restarted.Store(time.Now().UnixNano()) }
		note()
		defer note()
		root, err := harness.Root()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "run", "-C", filepath.Join(root, "tests", "cluster"), ".", "restart", component, "--name", l.cluster.Name)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("restart %s: %w\n%s", component, err, bytes.TrimSpace(output))
		}
		return nil
	}
}

// awaitJob waits until the agent has a Job, or for as long as a life without
// faults needs for it.
func (l *life) awaitJob(ctx context.Context) {
	_ = await(ctx, gap, func(ctx context.Context) error { // A mishap may also come too early.
		jobs := &batchv1.JobList{}
		if err := l.cluster.Client.List(ctx, jobs, client.InNamespace(l.namespace)); err != nil {
			return err
		}
		if len(jobs.Items) == 0 {
			return errors.New("there is no Job yet")
		}
		return nil
	})
}

// after runs a mishap a while after the step's beginning, or after its Job is
// there.
func (m mishap) after(ctx context.Context, l *life, s step, delay time.Duration) error {
	if s.code != nil {
		l.awaitJob(ctx)
	}
	pause(ctx, delay)
	if err := m.do(ctx, l); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

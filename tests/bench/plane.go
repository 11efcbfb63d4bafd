package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// namespace holds everything that is measured.
const namespace = "bench"

// plane is a control plane without nodes and controllers, so that nobody but
// the operator, the bare client and the bench itself calls the API server.
type plane struct {
	cluster   *harness.Cluster
	apiServer int // process ID
	versions  struct{ Kubernetes, Etcd string }
	raw       *kubernetes.Clientset
}

func newPlane(ctx context.Context, name string) (p *plane, err error) {
	cluster, err := harness.Fresh(ctx, name, "--nodes", "0", "--controller-manager=false")
	if err != nil {
		return nil, err
	}
	p = &plane{cluster: cluster}
	defer func() {
		if err != nil {
			err = errors.Join(err, cluster.Down(context.WithoutCancel(ctx)))
		}
	}()
	status, err := cluster.Status(ctx)
	if err != nil {
		return nil, err
	}
	p.versions.Kubernetes, p.versions.Etcd = status.Versions.Kubernetes, status.Versions.Etcd
	for _, process := range status.Processes {
		if process.Name == "kube-apiserver" {
			p.apiServer = process.PID
		}
	}
	if p.raw, err = kubernetes.NewForConfig(cluster.Config); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	return p, p.prepare(ctx)
}

// prepare makes the namespace, and the service account that Kubernetes'
// controllers would make in it, without which there are no pods.
func (p *plane) prepare(ctx context.Context) error {
	if err := p.cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("make the namespace: %w", err)
	}
	if err := p.cluster.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}); err != nil {
		return fmt.Errorf("make the service account: %w", err)
	}
	return nil
}

// create makes an agent as a person does.
func (p *plane) create(ctx context.Context, name string, l life) error {
	if err := p.cluster.Client.Create(ctx, newAgent(name, l)); err != nil {
		return fmt.Errorf("create agent %s: %w", name, err)
	}
	return nil
}

// calls is what the API server has answered so far, but for Events that others
// than the operator sent. Among them is the API server: it warns of a Service
// whose address it does not find at once among those that it has given away.
func (p *plane) calls(ctx context.Context) (calls, error) {
	text, err := p.raw.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return calls{}, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	found, err := parseCalls(bytes.NewReader(text))
	if err != nil {
		return calls{}, err
	}
	sent, err := p.raw.EventsV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return calls{}, fmt.Errorf("list Events: %w", err)
	}
	found.answered["create events"] = sentByOperator(sent.Items)
	return found, nil
}

// sentByOperator counts the Events that the operator's controllers report.
func sentByOperator(events []eventsv1.Event) (n float64) {
	for _, event := range events {
		if strings.HasPrefix(event.ReportingController, v1alpha1.Group+"/") {
			n++
		}
	}
	return n
}

// pause waits, and is an error when the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

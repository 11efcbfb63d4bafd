package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/deploy"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// works is how long a program on a node works, so that it can be disturbed.
const works = "3s"

// onNode is how many lives a node takes at once.
const onNode = 6

// node is a real node, which runs the programs of the sample agent. Each
// writes its own start into the ledger that the node has.
type node struct {
	cluster *harness.Cluster
	// image of the sample agent, in the node.
	image  string
	ledger *harness.Ledger
}

// newNode brings the node up, with the sample agent's image. Nobody else's
// operator may work there.
func newNode(ctx context.Context) (*node, error) {
	root, err := harness.Root()
	if err != nil {
		return nil, err
	}
	kube, err := deploy.Start(ctx, root, os.Stderr)
	if err != nil {
		return nil, err
	}
	image, err := kube.BuildImage(ctx, "agent", deploy.Version)
	if err != nil {
		return nil, err
	}
	cluster, err := harness.Up(ctx, deploy.Name, 1)
	if err != nil {
		return nil, err
	}
	operator := &appsv1.Deployment{}
	err = cluster.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: deploy.Deployment}, operator)
	if err == nil {
		return nil, fmt.Errorf("an operator is deployed in cluster %q, which would work on the same agents: remove it with make undeploy or make demo-down", deploy.Name)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return nil, fmt.Errorf("look for an operator: %w", err)
	}
	ledger, err := harness.ServeLedger(ctx)
	return &node{cluster: cluster, image: image.Reference, ledger: ledger}, err
}

// nodeMishaps are those of a control plane, more of the rare ones, and what
// can happen to a node.
func nodeMishaps() []mishap {
	all := mishaps()
	for i := range all {
		all[i].oneIn = min(all[i].oneIn, 4)
		if all[i].name == "node drained" {
			all[i].do = cordoned(drain)
		}
	}
	return append(all, mishap{name: "kubelet restarted", happens: inAnyStep, oneIn: 2, do: restart("kubelet")})
}

// cordoned keeps new pods from the node while it is drained.
func cordoned(drain func(context.Context, *life) error) func(context.Context, *life) error {
	return func(ctx context.Context, l *life) error {
		return errors.Join(l.cordon(ctx, true), drain(ctx, l), l.cordon(ctx, false))
	}
}

func (l *life) cordon(ctx context.Context, closed bool) error {
	return await(ctx, converges, func(ctx context.Context) error {
		nodes := &corev1.NodeList{}
		if err := l.cluster.Client.List(ctx, nodes); err != nil {
			return err
		}
		var failed []error
		for _, node := range nodes.Items {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed))
			failed = append(failed, l.cluster.Client.Patch(ctx, &node, patch))
		}
		return errors.Join(failed...)
	})
}

// adjust lets the program of a document work for a while, and tell the ledger
// that it starts.
func (n *node) adjust(spec *v1alpha1.LoomAgentSpec, p plan, document string) {
	spec.Agent = v1alpha1.NewAgentDocument(fmt.Sprintf(`{"schema":"loom.agent/1","model":"fast","instructions":"Work.","sample":{"sleep":%q}}`, works))
	spec.Env = []v1alpha1.EnvVar{{Name: "LEDGER_URL", Value: n.ledger.URL + (&url.URL{Path: pathOf(p, document)}).EscapedPath()}}
}

func pathOf(p plan, document string) string {
	return "/" + strings.Join([]string{p.namespace, p.name, document}, "/")
}

// follow reads how the programs of a life end from the kubelet, until ctx ends.
func (n *node) follow(ctx context.Context, p plan) ledger {
	told := told{node: n, plan: p, book: newBook()}
	go follow(ctx, n.cluster.Client, &corev1.PodList{}, p.namespace, func(_ watch.EventType, object client.Object) {
		pod := object.(*corev1.Pod)
		if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != "Job" || pod.Labels[v1alpha1.AgentLabel] != p.name {
			return
		}
		for _, container := range pod.Status.ContainerStatuses {
			if was := container.State.Terminated; was != nil && container.Name == v1alpha1.AgentContainer {
				told.end(documentOf(pod), end{code: was.ExitCode, reason: was.Reason, at: was.FinishedAt.Time})
			}
		}
	}, func() {})
	return told
}

// told is a ledger whose starts the programs have told.
type told struct {
	*book
	node *node
	plan plan
}

func (t told) startsOf(document string) []string {
	var pods []string
	for _, start := range t.node.ledger.Starts() {
		if start.Path == pathOf(t.plan, document) {
			pods = append(pods, "pod "+start.Pod)
		}
	}
	return pods
}

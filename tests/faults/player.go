package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// runs is how long a program runs.
const runs = 150 * time.Millisecond

// player is the kubelet and the programs of a control plane without a node: it
// starts every pod that the controllers of Kubernetes make, the moment it is
// there, and ends it as its arguments say.
type player struct {
	client.WithWatch
	ledger *book
}

// play lets a player play in a life, until ctx ends.
func play(ctx context.Context, l plan) *book {
	p := player{l.cluster.Client, newBook()}
	go follow(ctx, p, &corev1.PodList{}, l.namespace, func(event watch.EventType, object client.Object) {
		pod := object.(*corev1.Pod)
		owner := metav1.GetControllerOf(pod)
		if event == watch.Deleted || owner == nil || pod.Labels[v1alpha1.AgentLabel] != l.name || !p.ledger.start(documentOf(pod), fmt.Sprintf("pod %s of %s %s", pod.Name, owner.Kind, owner.UID)) {
			return
		}
		if owner.Kind == "Job" {
			go p.run(ctx, pod.DeepCopy())
		} else {
			go p.serve(ctx, pod.DeepCopy())
		}
	}, func() {})
	return p.ledger
}

// documentOf tells the documents of a life apart.
func documentOf(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		if container.Name == v1alpha1.AgentContainer {
			return strings.Join(container.Args, " ")
		}
	}
	return ""
}

// run starts a program and ends it with the code of its last argument.
func (p player) run(ctx context.Context, pod *corev1.Pod) {
	document := documentOf(pod)
	code, err := strconv.ParseInt(document[strings.LastIndexByte(document, ' ')+1:], 10, 32)
	if err != nil || !pause(ctx, runs) {
		return // A pod that is no run of a life never ends, and the life shows it.
	}
	e := end{code: int32(code), reason: "Completed", at: time.Now().Truncate(time.Second)}
	phase := corev1.PodSucceeded
	if code != 0 {
		e.reason, phase = "Error", corev1.PodFailed
	}
	p.ledger.end(document, e)
	terminated := corev1.ContainerStateTerminated{ExitCode: e.code, Reason: e.reason, StartedAt: metav1.NewTime(e.at), FinishedAt: metav1.NewTime(e.at)}
	p.report(ctx, pod, corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{
		{Name: v1alpha1.AgentContainer, State: corev1.ContainerState{Terminated: &terminated}},
	}})
}

// serve makes a pod ready, and lets it have been so for long enough.
func (p player) serve(ctx context.Context, pod *corev1.Pod) {
	since := metav1.NewTime(time.Now().Add(-time.Minute))
	p.report(ctx, pod, corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: v1alpha1.AgentContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}},
		},
	})
}

// report writes the status of a pod, as often as it takes.
func (p player) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) {
	for {
		now := pod.DeepCopy()
		now.Status.Phase, now.Status.Conditions, now.Status.ContainerStatuses = status.Phase, status.Conditions, status.ContainerStatuses
		err := client.IgnoreNotFound(p.Status().Patch(ctx, now, client.MergeFrom(pod)))
		if err == nil || !pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}

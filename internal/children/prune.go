package children

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// OwnerIndex is the cache index of children by the UID of their owner, so that
// looking for an agent's children does not scan those of the others.
const OwnerIndex = "loom.owner"

// Owner is the function of OwnerIndex. It serves the Jobs of a CronJob too.
func Owner(child client.Object) []string {
	owner := metav1.GetControllerOf(child)
	if owner == nil {
		return nil
	}
	return []string{string(owner.UID)}
}

// Workloads lists the kinds that start pods.
func Workloads() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &batchv1.Job{}, &batchv1.CronJob{}}
}

// Attachments lists the kinds that only serve a workload.
func Attachments() []client.Object {
	return []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}}
}

// Keep tells which children stay.
type Keep func(child client.Object) bool

// Named keeps the children of the given kinds and names, told by examples.
func Named(examples ...client.Object) Keep {
	return func(child client.Object) bool {
		for _, example := range examples {
			if fmt.Sprintf("%T", example) == fmt.Sprintf("%T", child) && example.GetName() == child.GetName() {
				return true
			}
		}
		return false
	}
}

// Policies keeps the network policies: guardrails stay in every state (design
// section 8).
func Policies(child client.Object) bool {
	_, ok := child.(*networkingv1.NetworkPolicy)
	return ok
}

// Remover removes children that a document no longer asks for.
type Remover struct{ Client client.Client }

// Workloads removes every workload that is not kept, and waits until it and
// its pods are gone: the former way to run an agent ends before the next one
// begins.
func (r Remover) Workloads(ctx context.Context, pass *journal.Pass, keep Keep) error {
	going, err := r.remove(ctx, pass, Workloads(), keep, metav1.DeletePropagationForeground)
	if err != nil || going == nil {
		return err
	}
	return stages.Wait(v1alpha1.ReasonReplacingVariant, fmt.Sprintf("Waiting until %[1]s, which an earlier document asked for, and its pods are gone. If this lasts, \"kubectl -n %[2]s get pods -l %[3]s=%[4]s -o wide\" shows the pod that stays: one on a lost node goes with its node, or when it is deleted with --force.",
		described(going), going.GetNamespace(), v1alpha1.AgentLabel, going.GetLabels()[v1alpha1.AgentLabel]), 0)
}

// Guardrail removes the network policies other than the one that the document
// asks for; nil is none. It does not wait for anything: a policy that is too
// tight may be what keeps the workload from becoming available.
func (r Remover) Guardrail(ctx context.Context, pass *journal.Pass, policy *networkingv1.NetworkPolicy) error {
	_, err := r.remove(ctx, pass, []client.Object{&networkingv1.NetworkPolicy{}}, Named(Present(policy)...), metav1.DeletePropagationBackground)
	return err
}

// Attachments removes the attachments that are not kept.
func (r Remover) Attachments(ctx context.Context, pass *journal.Pass, keep Keep) error {
	_, err := r.remove(ctx, pass, Attachments(), keep, metav1.DeletePropagationBackground)
	return err
}

// remove deletes what is not kept and returns one child that is still there.
func (r Remover) remove(ctx context.Context, pass *journal.Pass, kinds []client.Object, keep Keep, how metav1.DeletionPropagation) (going client.Object, err error) {
	for _, kind := range kinds {
		owned, err := r.owned(ctx, pass.Object(), kind)
		if err != nil {
			return nil, err
		}
		for _, child := range owned {
			if keep(child) {
				continue
			}
			going = child
			if !child.GetDeletionTimestamp().IsZero() {
				continue
			}
			if err := current(ctx, pass); err != nil {
				return nil, err
			}
			uid := child.GetUID()
			err := r.Client.Delete(ctx, child, client.PropagationPolicy(how), client.Preconditions{UID: &uid})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, Explain(err, "delete", kindOf(child), child.GetName())
			}
			pass.Event(corev1.EventTypeNormal, "ChildRemoved", "Remove/"+kindOf(child), fmt.Sprintf("Removed %s, which the document no longer asks for.", described(child)))
		}
	}
	return going, nil
}

func kindOf(child client.Object) string { return child.GetObjectKind().GroupVersionKind().Kind }

func described(child client.Object) string {
	return fmt.Sprintf("%s %q", kindOf(child), child.GetName())
}

// current is a conflict, which restarts the pass, unless the agent is at the
// generation that the pass works on: caches lag one by one, and a child that an
// outdated document does not ask for may be the run of the present one.
func current(ctx context.Context, pass *journal.Pass) error {
	agent, now := pass.Object(), &v1alpha1.LoomAgent{}
	if err := pass.Get(ctx, client.ObjectKeyFromObject(agent), now); err != nil {
		return fmt.Errorf("read the agent before something is removed: %w", err)
	}
	if now.UID != agent.UID || now.Generation != agent.Generation {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("loomagents").GroupResource(), agent.Name, errors.New("the document has changed"))
	}
	return nil
}

// owned lists the agent's children of one kind from the cache.
func (r Remover) owned(ctx context.Context, agent *v1alpha1.LoomAgent, kind client.Object) ([]client.Object, error) {
	gvk, err := r.Client.GroupVersionKindFor(kind)
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	list, err := r.Client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	if err := r.Client.List(ctx, list.(client.ObjectList), client.InNamespace(agent.Namespace), client.MatchingFields{OwnerIndex: string(agent.UID)}); err != nil {
		return nil, fmt.Errorf("list children of kind %s: %w", gvk.Kind, err)
	}
	var children []client.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		child := item.(client.Object)
		child.GetObjectKind().SetGroupVersionKind(gvk)
		children = append(children, child)
		return nil
	})
	return children, err
}

package agentserve

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// write brings the children in line with the document, the configuration before
// the template that mounts it, and then observes them. The Service comes last:
// nobody can be served before there are pods, which take the longest. The
// status names the Deployment before, so that pods which run while the Service
// cannot be written are not hidden.
func (s serve) write(ctx context.Context, pass *journal.Pass) error {
	in := s.Input(pass)
	policy, config, service, deployment := workload.NetworkPolicy(in), workload.Config(in), workload.Service(in), workload.Deployment(in)
	if err := s.Children.Workloads(ctx, pass, children.Named(deployment)); err != nil {
		return err
	}
	if err := s.Children.Guardrail(ctx, pass, policy); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, config); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, deployment); err != nil {
		return err
	}
	if err := intake.Admit(pass); err != nil {
		return err
	}
	agent, replicas := pass.Object(), int32(0)
	if former := agent.Status.Workload; former != nil {
		replicas = former.Replicas
	}
	agent.Status.Workload = &v1alpha1.Workload{
		Kind: "Deployment", Name: deployment.Name, UID: deployment.UID, Image: workload.Image(in),
		Replicas: replicas, Selector: workload.SelectorString(agent),
	}
	if err := children.Ensure(ctx, pass, service); err != nil {
		return err
	}
	if err := s.observe(ctx, pass, deployment); err != nil {
		return err
	}
	if replacing(deployment) {
		return nil
	}
	return s.Children.Attachments(ctx, pass, children.Named(children.Present(policy, config, service)...))
}

// replacing tells that pods of a former template may still need what they mount.
func replacing(deployment *appsv1.Deployment) bool {
	status := deployment.Status
	return status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < status.Replicas
}

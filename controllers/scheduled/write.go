package scheduled

import (
	"context"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// write brings the CronJob in line with the document, then observes its runs.
// It never creates a Job and never computes which run was missed: Kubernetes
// alone starts runs (case A59).
func (s schedule) write(ctx context.Context, pass *journal.Pass) error {
	in := s.Input(pass)
	policy, config, cronJob := workload.NetworkPolicy(in), workload.Config(in), workload.CronJob(in)
	if err := s.Children.Workloads(ctx, pass, children.Named(cronJob)); err != nil {
		return err
	}
	if err := intake.Admit(pass); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, policy); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, config); err != nil {
		return err
	}
	if err := children.Ensure(ctx, pass, cronJob); err != nil {
		return err
	}
	pass.SetStatus(func(agent *v1alpha1.LoomAgent) {
		former := agent.Status.Workload
		agent.Status.Workload = &v1alpha1.Workload{Kind: "CronJob", Name: cronJob.Name, UID: cronJob.UID, Image: workload.Image(in)}
		if former != nil {
			agent.Status.Workload.Recorded = former.Recorded
		}
	})
	return s.observe(ctx, pass, cronJob)
}

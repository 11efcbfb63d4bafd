// Package journal keeps the record of the lifecycle in the status of a
// LoomAgent: it is the only place that turns one into the other.
package journal

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// Record reads the record out of the status. It is nil when no pass has
// examined the agent yet: a status without observedGeneration holds only the
// default that the schema gave it (design section 3), and one that observed a
// generation that the agent has not reached was written about another object,
// such as the one that a backup was made of. So is a status that left Pending
// without a verdict: somebody took a part of it away.
func Record(agent *v1alpha1.LoomAgent) *lifecycle.Record {
	status := agent.Status
	judged := status.Check != nil || status.State == v1alpha1.StatePending
	if status.ObservedGeneration == 0 || status.ObservedGeneration > agent.Generation || !judged {
		return nil
	}
	record := &lifecycle.Record{
		Name:               agent.Name,
		ObservedGeneration: status.ObservedGeneration,
		State:              lifecycle.State(status.State),
		Variant:            lifecycle.Variant(status.Variant),
	}
	if status.Check != nil {
		record.Check = &lifecycle.Check{ExitCode: status.Check.ExitCode, Message: status.Check.Message}
	}
	if status.Deployment != nil {
		record.Deployment = &lifecycle.Deployment{Availability: lifecycle.Availability(status.Deployment.Availability)}
	}
	if status.Run != nil {
		end := end(*status.Run)
		record.Run = &end
	}
	if status.LastRun != nil {
		record.LastRun = &lifecycle.LastRun{Phase: lifecycle.RunPhase(status.LastRun.Phase), RunEnd: end(status.LastRun.RunEnd)}
	}
	return record
}

// Write puts the record into the status and leaves everything else in it.
func Write(status *v1alpha1.LoomAgentStatus, record lifecycle.Record) {
	status.ObservedGeneration = record.ObservedGeneration
	status.State = v1alpha1.AgentState(record.State)
	status.Variant = v1alpha1.AgentVariant(record.Variant)
	status.Check, status.Deployment, status.Run, status.LastRun = nil, nil, nil, nil
	if record.Check != nil {
		status.Check = &v1alpha1.CheckResult{ExitCode: record.Check.ExitCode, Message: record.Check.Message}
	}
	if record.Deployment != nil {
		status.Deployment = &v1alpha1.DeploymentStatus{Availability: v1alpha1.DeploymentAvailability(record.Deployment.Availability)}
	}
	if record.Run != nil {
		end := statusEnd(*record.Run)
		status.Run = &end
	}
	if record.LastRun != nil {
		status.LastRun = &v1alpha1.LastRun{Phase: v1alpha1.RunPhase(record.LastRun.Phase), RunEnd: statusEnd(record.LastRun.RunEnd)}
	}
}

func end(run v1alpha1.RunEnd) lifecycle.RunEnd {
	out := lifecycle.RunEnd{ExitCode: run.ExitCode, Reason: run.Reason}
	if run.FinishedAt != nil {
		out.FinishedAt = new(run.FinishedAt.Time)
	}
	return out
}

func statusEnd(run lifecycle.RunEnd) v1alpha1.RunEnd {
	out := v1alpha1.RunEnd{ExitCode: run.ExitCode, Reason: run.Reason}
	if run.FinishedAt != nil {
		out.FinishedAt = new(metav1.NewTime(run.FinishedAt.Truncate(time.Second)))
	}
	return out
}

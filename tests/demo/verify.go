package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// verify compares the statuses with what README.md promises of the samples.
func (d *demo) verify(ctx context.Context) error {
	d.step("Comparing every status with what is promised")
	text, err := d.cluster.Run(ctx, "--namespace", namespace, "get", "loomagents", "--output=json")
	if err != nil {
		return err
	}
	list := v1alpha1.LoomAgentList{}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Errorf("read the LoomAgents: %w", err)
	}
	if err := promises(list.Items); err != nil {
		return fmt.Errorf("%w\n%s", err, d.cluster.Diagnose(ctx, namespace))
	}
	children, err := d.cluster.Run(ctx, "--namespace", namespace, "get", "deployments,jobs,cronjobs", "--output=name",
		"--selector", v1alpha1.AgentLabel+"="+refused)
	if err != nil {
		return err
	}
	if children != "" {
		return fmt.Errorf("%s was refused and yet has %s", refused, strings.Join(strings.Fields(children), ", "))
	}
	return nil
}

// promise is what must hold of one sample. held tells what is wrong, or nothing.
type promise struct {
	agent string
	state v1alpha1.AgentState
	held  func(v1alpha1.LoomAgentStatus) string
}

var promised = []promise{
	{serving, v1alpha1.StateRunning, func(status v1alpha1.LoomAgentStatus) string {
		if status.Deployment == nil || status.Deployment.Availability != v1alpha1.Available {
			return "status.deployment.availability is not Available"
		}
		return notReady(status)
	}},
	{command, v1alpha1.StateCompleted, func(status v1alpha1.LoomAgentStatus) string {
		if status.Run == nil {
			return "status.run is absent"
		}
		if wrong := badEnd("status.run", *status.Run); wrong != "" {
			return wrong
		}
		return notReady(status)
	}},
	{scheduled, v1alpha1.StateRunning, func(status v1alpha1.LoomAgentStatus) string {
		switch {
		case status.LastRun == nil:
			return "status.lastRun is absent"
		case status.LastRun.Phase != v1alpha1.RunSucceeded:
			return fmt.Sprintf("status.lastRun.phase is %s, not Succeeded", status.LastRun.Phase)
		}
		if wrong := badEnd("status.lastRun", status.LastRun.RunEnd); wrong != "" {
			return wrong
		}
		return notReady(status)
	}},
	{refused, v1alpha1.StateRefused, func(status v1alpha1.LoomAgentStatus) string {
		if status.Check == nil || status.Check.ExitCode != 1 {
			return "status.check.exitCode is not 1"
		}
		for _, field := range []string{"agent.schema", "schedule.cron"} {
			if !strings.Contains(status.Check.Message, field) {
				return fmt.Sprintf("status.check.message does not name %s: %q", field, status.Check.Message)
			}
		}
		return ""
	}},
}

// promises returns what is not as promised of the agents.
func promises(agents []v1alpha1.LoomAgent) error {
	found := map[string]v1alpha1.LoomAgent{}
	for _, agent := range agents {
		found[agent.Name] = agent
	}
	var wrong []error
	for _, p := range promised {
		agent, exists := found[p.agent]
		status := agent.Status
		switch {
		case !exists:
			wrong = append(wrong, fmt.Errorf("%s is not there", p.agent))
		case status.ObservedGeneration != agent.Generation:
			wrong = append(wrong, fmt.Errorf("%s: the status is about generation %d, the document is at %d", p.agent, status.ObservedGeneration, agent.Generation))
		case status.State != p.state:
			wrong = append(wrong, fmt.Errorf("%s: status.state is %s, not %s", p.agent, status.State, p.state))
		default:
			if text := p.held(status); text != "" {
				wrong = append(wrong, fmt.Errorf("%s: %s", p.agent, text))
			}
		}
	}
	return errors.Join(wrong...)
}

// badEnd tells what is wrong with the end of a run that should have gone well.
func badEnd(field string, end v1alpha1.RunEnd) string {
	switch {
	case end.ExitCode == nil:
		return field + ".exitCode is absent"
	case *end.ExitCode != 0:
		return fmt.Sprintf("%s.exitCode is %d, not 0", field, *end.ExitCode)
	case end.FinishedAt == nil:
		return field + ".finishedAt is absent"
	case end.Reason == nil:
		return field + ".reason is absent"
	default:
		return ""
	}
}

func notReady(status v1alpha1.LoomAgentStatus) string {
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		return ""
	}
	return "the condition Ready is not True"
}

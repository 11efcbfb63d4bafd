package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// asPromised are the four samples as they should be in the end.
func asPromised() map[string]*v1alpha1.LoomAgent {
	end := v1alpha1.RunEnd{ExitCode: new(int32(0)), FinishedAt: new(metav1.NewTime(time.Unix(1, 0))), Reason: new("Completed")}
	ready := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	statuses := map[string]v1alpha1.LoomAgentStatus{
		serving: {
			State: v1alpha1.StateRunning, Conditions: ready,
			Deployment: &v1alpha1.DeploymentStatus{Availability: v1alpha1.Available},
		},
		command:   {State: v1alpha1.StateCompleted, Conditions: ready, Run: end.DeepCopy()},
		scheduled: {State: v1alpha1.StateRunning, Conditions: ready, LastRun: &v1alpha1.LastRun{Phase: v1alpha1.RunSucceeded, RunEnd: end}},
		refused: {
			State: v1alpha1.StateRefused,
			Check: &v1alpha1.CheckResult{ExitCode: 1, Message: "spec.agent.schema: unknown.\nspec.schedule.cron: never fires."},
		},
	}
	agents := map[string]*v1alpha1.LoomAgent{}
	for name, status := range statuses {
		status.ObservedGeneration = 2
		agents[name] = &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2}, Status: status}
	}
	return agents
}

func TestPromises(t *testing.T) {
	type agents = map[string]*v1alpha1.LoomAgent
	for name, c := range map[string]struct {
		change func(agents)
		wrong  string
	}{
		"kept":                           {change: func(agents) {}},
		"an agent is missing":            {change: func(a agents) { delete(a, serving) }, wrong: "support-desk is not there"},
		"a status is of the former text": {change: func(a agents) { a[serving].Generation = 3 }, wrong: "support-desk: the status is about generation 2, the document is at 3"},
		"a state is another one":         {change: func(a agents) { a[command].Status.State = v1alpha1.StateFailed }, wrong: "release-notes: status.state is Failed, not Completed"},
		"an agent is not available":      {change: func(a agents) { a[serving].Status.Deployment = nil }, wrong: "support-desk: status.deployment.availability is not Available"},
		"an agent is not ready":          {change: func(a agents) { a[serving].Status.Conditions = nil }, wrong: "support-desk: the condition Ready is not True"},
		"a command has no end":           {change: func(a agents) { a[command].Status.Run = nil }, wrong: "release-notes: status.run is absent"},
		"an exit code is wrong":          {change: func(a agents) { *a[command].Status.Run.ExitCode = 7 }, wrong: "release-notes: status.run.exitCode is 7, not 0"},
		"an exit code is missing":        {change: func(a agents) { a[command].Status.Run.ExitCode = nil }, wrong: "release-notes: status.run.exitCode is absent"},
		"a time is missing":              {change: func(a agents) { a[command].Status.Run.FinishedAt = nil }, wrong: "release-notes: status.run.finishedAt is absent"},
		"a reason is missing":            {change: func(a agents) { a[command].Status.Run.Reason = nil }, wrong: "release-notes: status.run.reason is absent"},
		"a schedule had no run":          {change: func(a agents) { a[scheduled].Status.LastRun = nil }, wrong: "morning-digest: status.lastRun is absent"},
		"a scheduled run failed":         {change: func(a agents) { a[scheduled].Status.LastRun.Phase = v1alpha1.RunFailed }, wrong: "morning-digest: status.lastRun.phase is Failed, not Succeeded"},
		"a last run has no exit code":    {change: func(a agents) { a[scheduled].Status.LastRun.ExitCode = nil }, wrong: "morning-digest: status.lastRun.exitCode is absent"},
		"a refusal has no exit code":     {change: func(a agents) { a[refused].Status.Check.ExitCode = 0 }, wrong: "broken-report: status.check.exitCode is not 1"},
		"a refusal names one field only": {change: func(a agents) { a[refused].Status.Check.Message = "agent.schema" }, wrong: `broken-report: status.check.message does not name schedule.cron: "agent.schema"`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := asPromised()
			c.change(changed)
			var list []v1alpha1.LoomAgent
			for _, agent := range changed {
				list = append(list, *agent)
			}
			if err := promises(list); c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, c.wrong)
			}
		})
	}
}

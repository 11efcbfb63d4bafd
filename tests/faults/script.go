package main

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// step is one thing that a person does to the agent, and what comes of it.
type step struct {
	name string
	// spec becomes the agent's; nil deletes the agent.
	spec *v1alpha1.LoomAgentSpec
	// tick starts a run of the schedule, as the CronJob controller does.
	tick bool
	// code is what the program of this step ends with; nil when none runs.
	code *int32
	// settled judges the agent; nil is that all has come about.
	settled func(*v1alpha1.LoomAgent) error
	// workloads are the kinds of the agent's own workloads then.
	workloads []string
}

// document is how the ledger knows the program of the step.
func (s step) document() string { return fmt.Sprintf("run --exit-code %d", *s.code) }

// variants are the lives: how an agent is made, respecified, changed into
// another variant, suspended and deleted.
func variants() map[string][]step {
	return map[string][]step{
		"Command": {
			completes("create", 7), completes("respecify", 0), serves("change variant", 1), suspends("suspend", serve(1)), deletes(),
		},
		"AgentServe": {
			serves("create", 1), serves("respecify", 2), completes("change variant", 5), suspends("suspend", command(5)), deletes(),
		},
		"Scheduled": {
			ticks("create", 0), ticks("respecify", 3), completes("change variant", 6), suspends("suspend", command(6)), deletes(),
		},
	}
}

// upTo shortens a life to the named step, the one after it, and its end.
func upTo(steps []step, name string) []step {
	last := slices.IndexFunc(steps, func(s step) bool { return s.name == name }) + 2
	if last >= len(steps) {
		return steps
	}
	return append(slices.Clone(steps[:last]), deletes())
}

func command(code int32) *v1alpha1.LoomAgentSpec {
	return &v1alpha1.LoomAgentSpec{
		Command:     &v1alpha1.CommandSpec{Args: []string{"run", "--exit-code", fmt.Sprint(code)}},
		ConfigFiles: []v1alpha1.ConfigFile{{Name: "task", Content: fmt.Sprintf("End with %d.", code)}},
	}
}

func serve(number int) *v1alpha1.LoomAgentSpec {
	text := fmt.Sprintf(`{"schema":"loom.agent/1","model":"fast","instructions":"Answer, version %d."}`, number)
	return &v1alpha1.LoomAgentSpec{Agent: v1alpha1.NewAgentDocument(text)}
}

func scheduled(code int32) *v1alpha1.LoomAgentSpec {
	spec := command(code)
	spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "0 0 1 1 *"}
	return spec
}

// completes is a step with one run of a command, to its end.
func completes(name string, code int32) step {
	want, reason := v1alpha1.StateCompleted, v1alpha1.ReasonCompleted
	if code != 0 {
		want, reason = v1alpha1.StateFailed, v1alpha1.ReasonRunFailed
	}
	return step{name: name, spec: command(code), code: &code, workloads: []string{"Job"}, settled: func(agent *v1alpha1.LoomAgent) error {
		return is(agent, want, reason)
	}}
}

func serves(name string, number int) step {
	return step{name: name, spec: serve(number), workloads: []string{"Deployment"}, settled: func(agent *v1alpha1.LoomAgent) error {
		return is(agent, v1alpha1.StateRunning, v1alpha1.ReasonAvailable)
	}}
}

func ticks(name string, code int32) step {
	return step{name: name, spec: scheduled(code), tick: true, code: &code, workloads: []string{"CronJob"}, settled: func(agent *v1alpha1.LoomAgent) error {
		if agent.Status.LastRun == nil {
			return fmt.Errorf("no run is recorded; state is %s", agent.Status.State)
		}
		return is(agent, v1alpha1.StateRunning, v1alpha1.ReasonScheduled)
	}}
}

// suspends lets the agent rest. A Deployment stays, without pods.
func suspends(name string, spec *v1alpha1.LoomAgentSpec) step {
	spec.Suspend = new(true)
	s := step{name: name, spec: spec, settled: func(agent *v1alpha1.LoomAgent) error {
		return is(agent, agent.Status.State, v1alpha1.ReasonSuspended)
	}}
	if spec.Command == nil {
		s.workloads = []string{"Deployment"}
	}
	return s
}

func deletes() step { return step{name: "delete"} }

// is wants a state and a reason of Ready, both of the present generation.
func is(agent *v1alpha1.LoomAgent, state v1alpha1.AgentState, reason string) error {
	ready, _ := stages.GetCondition(agent, v1alpha1.ConditionReady)
	if agent.Status.State != state || ready.Reason != reason || ready.ObservedGeneration != agent.Generation {
		return fmt.Errorf("state is %s and Ready is %s/%s of generation %d (%s), not %s and %s of generation %d",
			agent.Status.State, ready.Status, ready.Reason, ready.ObservedGeneration, ready.Message, state, reason, agent.Generation)
	}
	return nil
}

// ended wants the recorded end of a run to be how its program ended. A lost
// run, whose Job or pod was taken away, may have none, or what the Job says.
func ended(run v1alpha1.RunEnd, was end, lost bool) error {
	if lost && (run.ExitCode == nil || *run.ExitCode == was.code) {
		return nil
	}
	at := metav1.NewTime(was.at)
	if run.ExitCode == nil || *run.ExitCode != was.code || run.Reason == nil || *run.Reason != was.reason || run.FinishedAt == nil || !run.FinishedAt.Equal(&at) {
		return fmt.Errorf("the program ended with %s, and %s is recorded", was, recorded(run))
	}
	return nil
}

func recorded(run v1alpha1.RunEnd) string {
	text := "no exit code"
	if run.ExitCode != nil {
		text = fmt.Sprintf("exit code %d", *run.ExitCode)
	}
	if run.Reason != nil {
		text += " (" + *run.Reason + ")"
	}
	if run.FinishedAt != nil {
		text += " at " + run.FinishedAt.UTC().Format("2006-01-02T15:04:05Z")
	}
	return text
}

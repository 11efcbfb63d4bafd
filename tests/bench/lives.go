package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// mixed has all lives in turn.
const mixed = "mixed"

// life is what an agent goes through, from its creation to its first settled
// state.
type life struct {
	variant string
	spec    func() v1alpha1.LoomAgentSpec
	// settled tells that nothing more follows without a change from outside.
	settled func(*v1alpha1.LoomAgent) bool
	// theirs are the requests that others make in such a life: the person who
	// creates the agent, and the node and controller that end its run.
	theirs map[call]float64
	// workload builds the child that runs the agent.
	workload func(workload.Input) client.Object
	// floor takes a created agent through the life with the fewest writes.
	floor func(bare, context.Context, *v1alpha1.LoomAgent) error
}

func lives() map[string]life {
	created := map[call]float64{"create loomagents": 1}
	cronJob := func(in workload.Input) client.Object { return workload.CronJob(in) }
	return map[string]life{
		"serve": {
			variant: "serve", spec: serving, theirs: created, floor: bare.serve, settled: hasWorkload,
			workload: func(in workload.Input) client.Object { return workload.Deployment(in) },
		},
		"schedule": {
			variant: "schedule", spec: scheduled, theirs: created, floor: bare.schedule, settled: hasWorkload, workload: cronJob,
		},
		"schedule-document": {
			variant: "schedule-document", spec: scheduledDocument, theirs: created, floor: bare.schedule, settled: hasWorkload, workload: cronJob,
		},
		"command": {
			variant: "command", spec: command, floor: bare.command,
			workload: func(in workload.Input) client.Object { return workload.Job(in) },
			settled:  func(agent *v1alpha1.LoomAgent) bool { return agent.Status.State == v1alpha1.StateCompleted },
			theirs: map[call]float64{
				"create loomagents": 1, "create pods": 1, "update pods/status": 1, "update jobs/status": 1,
			},
		},
	}
}

// hasWorkload tells that the agent's workload is there and recorded. There are
// no pods, so a serving agent stays in its first rollout.
func hasWorkload(agent *v1alpha1.LoomAgent) bool {
	return agent.Status.ObservedGeneration == agent.Generation && agent.Status.Workload != nil
}

// variantNames lists what can be measured.
func variantNames() []string {
	return append(slices.Sorted(maps.Keys(lives())), mixed)
}

// of is the life of the i-th agent of a variant.
func of(variant string, i int) life {
	all := lives()
	if variant == mixed {
		names := slices.Sorted(maps.Keys(all))
		return all[names[i%len(names)]]
	}
	return all[variant]
}

// theirs are the requests of others in the whole trial.
func (t trial) theirs() calls {
	sum := calls{answered: map[call]float64{}}
	for i := range t.agents {
		for kind, n := range of(t.variant, i).theirs {
			sum.answered[kind] += n
		}
	}
	return sum
}

func newAgent(name string, l life) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: l.spec()}
}

// instructions make the document as long as a short real one, about half a KiB.
var instructions = strings.Repeat("Answer the question in one paragraph. ", 12)

func document() *v1alpha1.AgentDocument {
	return v1alpha1.NewAgentDocument(fmt.Sprintf(`{"schema":"loom.agent/1","model":"default","instructions":%q}`, instructions))
}

// serving has a document, as every agent that serves.
func serving() v1alpha1.LoomAgentSpec { return v1alpha1.LoomAgentSpec{Agent: document()} }

func command() v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Command: &v1alpha1.CommandSpec{Args: []string{"run", "report"}}}
}

// scheduled runs in the night of the first of January, when nothing is measured.
func scheduled() v1alpha1.LoomAgentSpec {
	spec := command()
	spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "0 3 1 1 *"}
	return spec
}

// scheduledDocument needs one child more, the ConfigMap with the document.
func scheduledDocument() v1alpha1.LoomAgentSpec {
	spec := scheduled()
	spec.Agent = document()
	return spec
}

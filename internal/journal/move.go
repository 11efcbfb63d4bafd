package journal

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Pass is a pass over a LoomAgent.
type Pass = stages.Pass[*v1alpha1.LoomAgent]

// Move hands a command to the lifecycle, stages the record that follows in the
// status and queues a Kubernetes Event for each event of the move that is worth
// one. Several moves of one pass fold into its one status write (design
// section 4).
//
// A command that the lifecycle answers with an error changes nothing. The
// caller decides whether that matters: it does not for facts that come late.
func Move(pass *Pass, command lifecycle.Command) (lifecycle.Decision, error) {
	decision, err := lifecycle.Decide(Record(pass.Object()), command)
	if err != nil {
		return decision, fmt.Errorf("lifecycle: %w", err)
	}
	if decision.Record != nil {
		Write(&pass.Object().Status, *decision.Record)
	}
	for _, event := range decision.Events {
		report(pass, event)
	}
	return decision, nil
}

// Observe is Move for a fact about a child. A fact that the state has no
// answer to, such as the end of a run that is recorded already, changes
// nothing and is no error.
func Observe(pass *Pass, command lifecycle.Command) error {
	_, err := Move(pass, command)
	var conflict *lifecycle.StateConflictError
	if errors.As(err, &conflict) {
		return nil
	}
	return err
}

// Apply opens every pass: it records the generation that the pass examines. A
// new generation clears what was known of the former one.
func Apply(pass *Pass) error {
	agent := pass.Object()
	decision, err := Move(pass, lifecycle.ApplyLoomAgent{Name: agent.Name, Generation: agent.Generation})
	if err != nil {
		return err
	}
	if decision.Outcome == lifecycle.OutcomeCreated || decision.Outcome == lifecycle.OutcomeRespecified {
		agent.Status.Workload, agent.Status.NextRun = nil, nil
	}
	return nil
}

// warnings are the events that a person should look at.
var warnings = map[lifecycle.EventType]bool{
	lifecycle.LoomAgentRefused:  true,
	lifecycle.LoomAgentDegraded: true,
	lifecycle.LoomAgentFailed:   true,
}

// worthTelling are the events that become Kubernetes Events: trouble, its end,
// and the runs of a schedule, of which the status keeps the last only. The
// status tells the others for as long as the agent is there, and an Event costs
// the API server about as much as that status (docs/decisions/0010).
var worthTelling = map[lifecycle.EventType]bool{
	lifecycle.LoomAgentRefused:         true,
	lifecycle.LoomAgentDegraded:        true,
	lifecycle.LoomAgentRecovered:       true,
	lifecycle.LoomAgentFailed:          true,
	lifecycle.LoomAgentLastRunObserved: true,
}

func report(pass *Pass, event lifecycle.Event) {
	if !worthTelling[event.Type] {
		return
	}
	eventtype := corev1.EventTypeNormal
	if warnings[event.Type] || event.LastRun != nil && event.LastRun.Phase == lifecycle.RunFailed {
		eventtype = corev1.EventTypeWarning
	}
	pass.Event(eventtype, string(event.Type), action(event), note(event))
}

// action tells apart the runs of a schedule, each of which is an occurrence of
// its own; everything else happens once per generation or is worth one Event.
func action(event lifecycle.Event) string {
	if event.LastRun != nil && event.LastRun.FinishedAt != nil {
		return "RecordRun/" + event.LastRun.FinishedAt.UTC().Format("20060102T150405Z")
	}
	return "Record"
}

// note tells what the event carries, in one line.
func note(event lifecycle.Event) string {
	var parts []string
	if event.Variant != "" {
		parts = append(parts, fmt.Sprintf("variant %s", event.Variant))
	}
	if event.Check != nil {
		message := strings.ReplaceAll(event.Check.Message, "\n", " ")
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("check ended with exit code %d: %s", event.Check.ExitCode, message), ": "))
	}
	if event.Deployment != nil {
		parts = append(parts, fmt.Sprintf("the Deployment is %s", event.Deployment.Availability))
	}
	if event.Run != nil {
		parts = append(parts, describe(*event.Run))
	}
	if event.LastRun != nil {
		parts = append(parts, fmt.Sprintf("run %s, %s", event.LastRun.Phase, describe(event.LastRun.RunEnd)))
	}
	return fmt.Sprintf("LoomAgent %s: %s.", event.Name, strings.TrimSuffix(strings.Join(parts, ", "), "."))
}

func describe(end lifecycle.RunEnd) string {
	text := "ended without a known exit code"
	if end.ExitCode != nil {
		text = fmt.Sprintf("ended with exit code %d", *end.ExitCode)
	}
	if end.Reason != nil {
		text += fmt.Sprintf(" (%s)", *end.Reason)
	}
	return text
}

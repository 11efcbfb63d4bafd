package main

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// outcome is what becomes of a document.
type outcome string

const (
	// runs: the check accepts it and the children are there.
	runs outcome = "runs"
	// refused: the check refuses it, and nothing runs.
	refused outcome = "refused"
	// bySchema: the API server refuses it, and nothing at all happens.
	bySchema outcome = "refused by the schema"
	// childRefused: the check accepts it and the API server refuses a child,
	// which the check does not know all rules of. The agent says so, and what
	// ran of the former document runs on.
	childRefused outcome = "child refused"
	// waits: the check accepts it, and it names something that does not exist.
	// The agent says so, and what ran of the former document runs on.
	waits outcome = "waits"
)

// schemaNames wants the API server's refusal to name the property, or a block
// around it: a rule on a block is told of the block.
func schemaNames(p path, err error) error {
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		return fmt.Errorf("the API server failed: %w", err)
	}
	if block := p[:min(len(p), 1)]; !strings.Contains(err.Error(), block.String()) {
		return fmt.Errorf("the API server's refusal does not name %s: %w", block, err)
	}
	return nil
}

// judged wants the status to say of the present document what the check says.
// It is nil once the status does, and an error before.
func judged(agent *v1alpha1.LoomAgent) error {
	if agent.Status.ObservedGeneration != agent.Generation {
		return fmt.Errorf("the status is of generation %d, not %d", agent.Status.ObservedGeneration, agent.Generation)
	}
	ready := meta.FindStatusCondition(agent.Status.Conditions, v1alpha1.ConditionReady)
	checked := meta.FindStatusCondition(agent.Status.Conditions, v1alpha1.ConditionChecked)
	for _, c := range []*metav1.Condition{ready, checked} {
		if c == nil || c.ObservedGeneration != agent.Generation {
			return fmt.Errorf("a condition is missing or of an earlier generation: %v", c)
		}
	}
	report := check.Run(check.Input{Agent: agent, DefaultImage: harness.AgentImage})
	told := agent.Status.Check
	if report.ExitCode() == 0 {
		if agent.Status.State == v1alpha1.StateRefused || checked.Status != metav1.ConditionTrue || told != nil && told.ExitCode != 0 {
			return fmt.Errorf("the check accepts the document; state %s, Checked %s, recorded %v", agent.Status.State, checked.Status, told)
		}
		return nil
	}
	if agent.Status.State != v1alpha1.StateRefused || checked.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonRefused ||
		told == nil || told.ExitCode != report.ExitCode() || told.Message != report.Message() {
		return fmt.Errorf("the check refuses the document with %q; state %s, Checked %s, Ready for %s, recorded %+v", report.Message(), agent.Status.State, checked.Status, ready.Reason, told)
	}
	return nil
}

// outcomeOf reads the outcome from a status that is judged.
func outcomeOf(agent *v1alpha1.LoomAgent) outcome {
	switch {
	case agent.Status.State == v1alpha1.StateRefused:
		return refused
	case reasonOf(agent) == v1alpha1.ReasonChildInvalid:
		return childRefused
	case reasonOf(agent) == v1alpha1.ReasonReferenceMissing:
		return waits
	default:
		return runs
	}
}

// reasonOf is why the agent is ready, or not.
func reasonOf(agent *v1alpha1.LoomAgent) string {
	if ready := meta.FindStatusCondition(agent.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

package upgradeable

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
)

// Reasons of the condition Upgradeable.
const (
	// ReasonNoCreateOpen: no agent has a create whose outcome is not recorded.
	ReasonNoCreateOpen = "NoCreateOpen"
	// ReasonCreateOpen: a create of a Job was started and is not recorded yet.
	// That takes a moment.
	ReasonCreateOpen = "CreateOpen"
	// ReasonCreateOutcomeUnknown: the read that would tell the outcome of a
	// create fails. That lasts until it succeeds or a person decides.
	ReasonCreateOutcomeUnknown = v1alpha1.ReasonCreateOutcomeUnknown
)

// named is how many agents a message names.
const named = 5

// Verdict tells whether the operator may be upgraded now: not while it has
// started a create whose outcome it has not recorded, since the one that comes
// after it would have to find out what this one did.
type Verdict struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Judge gives the verdict over all agents.
func Judge(agents []v1alpha1.LoomAgent) Verdict {
	var open, unknown []string
	for i := range agents {
		name := agents[i].Namespace + "/" + agents[i].Name
		switch reasonOf(&agents[i]) {
		case ReasonCreateOutcomeUnknown:
			unknown = append(unknown, name)
		case ReasonCreateOpen:
			open = append(open, name)
		}
	}
	switch {
	case len(unknown) > 0:
		return Verdict{metav1.ConditionFalse, ReasonCreateOutcomeUnknown, fmt.Sprintf(
			"It is not known whether a create took effect for LoomAgent %s. The condition Ready of each says what to do; after that the operator can be upgraded.", list(unknown))}
	case len(open) > 0:
		return Verdict{metav1.ConditionFalse, ReasonCreateOpen, fmt.Sprintf(
			"A Job is being created for LoomAgent %s. Wait until that is recorded in its status.", list(open))}
	}
	return Verdict{metav1.ConditionTrue, ReasonNoCreateOpen, "No create is open. The operator can be upgraded; agents go on meanwhile."}
}

// reasonOf tells why an agent holds an upgrade back; empty when it does not.
func reasonOf(agent *v1alpha1.LoomAgent) string {
	ready := meta.FindStatusCondition(agent.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == v1alpha1.ReasonCreateOutcomeUnknown {
		return ReasonCreateOutcomeUnknown
	}
	if _, marked := guard.MarkOf(agent); marked {
		return ReasonCreateOpen
	}
	return ""
}

func list(names []string) string {
	slices.Sort(names)
	if len(names) > named {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
	}
	return strings.Join(names, ", ")
}

// same tells whether the condition says this already.
func (v Verdict) same(condition *metav1.Condition) bool {
	return condition.Status == v.Status && condition.Reason == v.Reason && condition.Message == v.Message
}

package guard

import "k8s.io/apimachinery/pkg/types"

// Facts are what is known of the Job of the current generation.
type Facts struct {
	// Recorded is the UID in the status, or in the start where the status
	// lost it; empty when none was recorded.
	Recorded types.UID
	// Marked tells that a create may have been sent.
	Marked bool
	// Found is the Job under the generation's name; nil when there is none.
	Found *Found
	// Live tells that Found was read past every cache.
	Live bool
}

// Found is a Job under the generation's name.
type Found struct {
	UID types.UID
	// Ours tells that the agent controls it and that it carries the
	// agent's generation.
	Ours bool
}

// Step is what comes next.
type Step string

// The steps.
const (
	// Create: nothing was ever started. Mark, then create the suspended Job.
	Create Step = "Create"
	// Look: a cache cannot decide. Read past it and decide again; while that
	// read fails, the outcome is unknown and nothing is created.
	Look Step = "Look"
	// Adopt: the Job is there and not recorded. Record its UID.
	Adopt Step = "Adopt"
	// Follow: the recorded Job is there. Resume it if need be and observe it.
	Follow Step = "Follow"
	// Lose: the recorded Job is gone, and with it what it did.
	Lose Step = "Lose"
	// Discard: a Job of ours that is not the recorded one. It was made over an
	// outdated view, is still suspended and has never run. Delete it.
	Discard Step = "Discard"
	// Yield: the name belongs to somebody else's Job. Touch nothing.
	Yield Step = "Yield"
)

// Next decides. It is total.
func Next(facts Facts) Step {
	switch found := facts.Found; {
	case found != nil && !found.Ours:
		return Yield
	case found != nil && facts.Recorded == "":
		return Adopt
	case found != nil && facts.Recorded == found.UID:
		return Follow
	case !facts.Live && (facts.Recorded != "" || facts.Marked):
		return Look
	case found != nil:
		return Discard
	case facts.Recorded != "":
		return Lose
	default:
		return Create
	}
}

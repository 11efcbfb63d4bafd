package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// RestFor is how often a resting agent is looked at. What ends the rest is an
// edit, which a watch reports, so this is only for certainty (case A67).
const RestFor = 6 * time.Hour

// IsPaused is the case of an agent whose children are to stay as they are.
func IsPaused(agent *v1alpha1.LoomAgent, _ *journal.Pass) bool { return agent.Paused() }

// pausedToo is what a message says besides, when the agent is paused.
const pausedToo = " The agent is paused, so its children stay as they are."

// Paused observes the workload and writes no child.
func Paused(watch stages.Handler[*v1alpha1.LoomAgent]) stages.Handler[*v1alpha1.LoomAgent] {
	return func(ctx context.Context, pass *journal.Pass) error {
		if err := watch(ctx, pass); err != nil && !stages.IsVerdict(err) {
			return err
		}
		return stages.Wait(v1alpha1.ReasonPaused, fmt.Sprintf("The annotation %s is \"true\", so the children stay as they are. Remove it to go on.", v1alpha1.PausedAnnotation), RestFor)
	}
}

// IsSuspended is the case of an agent that is asked to rest.
func IsSuspended(agent *v1alpha1.LoomAgent, _ *journal.Pass) bool { return agent.Suspended() }

// Resting is the outcome of an agent that is asked to rest.
func Resting() error { return RestingFor("spec.suspend") }

// RestingFor names the field that asks for it.
func RestingFor(field string) error {
	return stages.Wait(v1alpha1.ReasonSuspended, fmt.Sprintf("The agent rests because %s is true. Set it to false to go on.", field), RestFor)
}

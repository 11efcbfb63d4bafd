// Package command is the controller of agents that run a program once per
// generation: a Job, created under the guard of internal/guard.
package command

import (
	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/intake"
)

// command is the work of the last stage.
type command struct{ intake.Intake }

// New tells the controller's story: the document is checked, what it refers to
// is there, and the program has completed.
func New(in intake.Intake) *intake.Controller {
	c := command{in}
	b := in.Open("command", c.watch)
	b.Stage(v1alpha1.ConditionCompleted).After(v1alpha1.ConditionReferencesResolved).
		Case("ended", ended, c.ended).
		Case("paused", intake.IsPaused, intake.Paused(c.watch), "ended").
		Case("suspended", intake.IsSuspended, c.suspended, "paused").
		Otherwise(c.write)
	return b
}

// Package scheduled is the controller of agents that run on a schedule: a
// CronJob, whose runs Kubernetes starts and this controller records.
package scheduled

import (
	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/intake"
)

// schedule is the work of the last stage.
type schedule struct{ intake.Intake }

// New tells the controller's story: the document is checked, what it refers to
// is there, and the schedule is in force.
func New(in intake.Intake) *intake.Controller {
	s := schedule{in}
	b := in.Open("scheduled", s.watch)
	b.Stage(v1alpha1.ConditionScheduled).After(v1alpha1.ConditionReferencesResolved).
		Case("paused", intake.IsPaused, intake.Paused(s.watch)).
		Otherwise(s.write)
	return b
}

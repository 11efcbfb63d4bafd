// Package agentserve is the controller of agents that serve: a Deployment and
// its Service.
package agentserve

import (
	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/intake"
)

// serve is the work of the last stage.
type serve struct{ intake.Intake }

// New tells the controller's story: the document is checked, what it refers to
// is there, and the Deployment is available.
func New(in intake.Intake) *intake.Controller {
	s := serve{in}
	b := in.Open("agentserve", s.watch)
	b.Stage(v1alpha1.ConditionAvailable).After(v1alpha1.ConditionReferencesResolved).
		Case("paused", intake.IsPaused, intake.Paused(s.watch)).
		Otherwise(s.write)
	return b
}

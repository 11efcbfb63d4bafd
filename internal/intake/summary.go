package intake

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// summarize sets the conditions Synced, which tells whether the pass reached its
// end without an error, and Stalled, which tells that only a change of the
// document helps, and reports trouble that the lifecycle has no event for.
func summarize(pass *journal.Pass, outcome stages.Outcome) {
	switch outcome.Kind {
	case stages.Failed, stages.FailedTerminally:
		pass.Condition(v1alpha1.ConditionSynced, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, outcome.Message)
	default:
		pass.Condition(v1alpha1.ConditionSynced, metav1.ConditionTrue, v1alpha1.ReasonReconcileSuccess, "The last pass reached its end without an error.")
	}
	if outcome.Kind == stages.Stopped || outcome.Kind == stages.FailedTerminally {
		pass.Condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, outcome.Reason, outcome.Message)
	}
	if outcome.Kind == stages.Waiting && isTrouble(outcome.Reason) {
		pass.Event(corev1.EventTypeWarning, outcome.Reason, "Wait", outcome.Message)
	}
}

// isTrouble tells the waits that a person should look at from those that pass
// by themselves or that the person asked for.
func isTrouble(reason string) bool {
	switch reason {
	case v1alpha1.ReasonRolloutInProgress, v1alpha1.ReasonRunning, v1alpha1.ReasonReplacingVariant,
		v1alpha1.ReasonSuspended, v1alpha1.ReasonPaused, v1alpha1.ReasonScaledToZero, v1alpha1.ReasonJobSuspended, v1alpha1.ReasonChildTerminating:
		return false
	}
	return true
}

package scheduled

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// reportLastRun sets the condition LastRunSucceeded beside the stages' own. It
// stays as the pass that recorded the run wrote it; where that is lost, the
// record itself still tells how the run ended. A handler calls it first of all,
// with no runs, so that the condition outlasts a pass that ends before the runs
// are observed.
func reportLastRun(pass *journal.Pass, finished []observe.FinishedRun) {
	agent := pass.Object()
	last := agent.Status.LastRun
	if last == nil {
		pass.Condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonNoRunYet, "No run of this generation has finished yet.")
		return
	}
	status, reason := metav1.ConditionTrue, v1alpha1.ReasonLastRunSucceeded
	if last.Phase == v1alpha1.RunFailed {
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonLastRunFailed
	}
	message := observe.Recorded(&last.RunEnd, status == metav1.ConditionTrue).Message
	if kept, ok := stages.GetCondition(agent, v1alpha1.ConditionLastRunSucceeded); ok && kept.Reason == reason {
		message = kept.Message
	}
	if len(finished) > 0 {
		message = finished[len(finished)-1].Cause.Message
	}
	pass.Condition(v1alpha1.ConditionLastRunSucceeded, status, reason, message)
}

// inForce tells the schedule in words that change only with the document.
func inForce(cronJob *batchv1.CronJob) string {
	zone := "the cluster's time zone"
	if cronJob.Spec.TimeZone != nil {
		zone = *cronJob.Spec.TimeZone
	}
	return fmt.Sprintf("CronJob %q starts a run at %q in %s.", cronJob.Name, cronJob.Spec.Schedule, zone)
}

package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// The schema of the API has these limits too, but for an upper one of seconds:
// those of Kubernetes overflow far above 68 years, which is where they end here.
func ranges(in Input) []Finding {
	spec := in.Agent.Spec
	var found []Finding
	if s := spec.Schedule; s != nil {
		found = slices.Concat(found,
			inRange("spec.schedule.startingDeadlineSeconds", s.StartingDeadlineSeconds, 0, math.MaxInt32),
			inRange("spec.schedule.successfulJobsHistoryLimit", s.SuccessfulJobsHistoryLimit, 0, math.MaxInt32),
			inRange("spec.schedule.failedJobsHistoryLimit", s.FailedJobsHistoryLimit, 0, math.MaxInt32))
	}
	if p := spec.Pod; p != nil {
		found = append(found, inRange("spec.pod.terminationGracePeriodSeconds", p.TerminationGracePeriodSeconds, 0, math.MaxInt32)...)
	}
	if s := spec.Serve; s != nil {
		found = slices.Concat(found,
			inRange("spec.serve.replicas", s.Replicas, 0, math.MaxInt32),
			inRange("spec.serve.port", s.Port, 1, math.MaxUint16))
	}
	if r := spec.Run; r != nil {
		found = slices.Concat(found,
			inRange("spec.run.backoffLimit", r.BackoffLimit, 0, math.MaxInt32),
			inRange("spec.run.activeDeadlineSeconds", r.ActiveDeadlineSeconds, 1, math.MaxInt32),
			inRange("spec.run.ttlSecondsAfterFinished", r.TTLSecondsAfterFinished, 0, math.MaxInt32))
	}
	return found
}

func inRange[T int32 | int64](field string, value *T, low, high T) []Finding {
	if value == nil || low <= *value && *value <= high {
		return nil
	}
	return []Finding{broken(field, "%d is not between %d and %d. Use a value in that range.", *value, low, high)}
}

func choices(in Input) []Finding {
	spec := in.Agent.Spec
	var found []Finding
	if s := spec.Schedule; s != nil && s.ConcurrencyPolicy != "" {
		found = append(found, oneOf("spec.schedule.concurrencyPolicy", s.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	}
	if p := spec.Pod; p != nil && p.ImagePullPolicy != "" {
		found = append(found, oneOf("spec.pod.imagePullPolicy", p.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	kinds := []v1alpha1.ConfinementProfileKind{v1alpha1.ProfileRuntimeDefault, v1alpha1.ProfileLocalhost, v1alpha1.ProfileUnconfined}
	if p := spec.SeccompProfile; p != nil {
		found = append(found, oneOf("spec.seccompProfile.type", p.Type, kinds...)...)
	}
	if p := spec.AppArmorProfile; p != nil {
		found = append(found, oneOf("spec.appArmorProfile.type", p.Type, kinds...)...)
	}
	return found
}

func oneOf[T ~string](field string, value T, allowed ...T) []Finding {
	if slices.Contains(allowed, value) {
		return nil
	}
	return []Finding{broken(field, "%s is not one of %s. Use one of these.", quote(string(value)), strings.Trim(fmt.Sprint(allowed), "[]"))}
}

package observe

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// failedCreate is the reason of the Event and of the condition that tell of a
// pod that could not be made.
const failedCreate = "FailedCreate"

var (
	refusedPod  = regexp.MustCompile(`^(?:Error creating: )?(?:pods "[^"]*" is forbidden: )?`)
	quotaUsed   = regexp.MustCompile(`, used: .*?(, limited: |$)`)
	limitRange  = regexp.MustCompile(`(?:(?:minimum|maximum) \S+ usage|\S+ max limit to request ratio) per \S+ is [^,\]]+(?:, but [^,\]]+)?`)
	podSecurity = regexp.MustCompile(`violates PodSecurity`)
	quota       = regexp.MustCompile(`(?:exceeded|failed) quota:`)
	// notThere are the texts about an object that the pod names: a service
	// account, a runtime class, a priority class.
	notThere = regexp.MustCompile(`(?i)(?:serviceaccount|runtimeclass) .*not found|no priorityclass .*was found`)
	// callFailed ends a text where the addresses of a webhook begin.
	callFailed = regexp.MustCompile(`(?s)(failed calling webhook "[^"]*"):.*$`)
	// invalidValue ends a text where a value of the pod begins.
	invalidValue = regexp.MustCompile(`(?s)(Invalid value): .*$`)
)

// forbidden tells why no pod can be made (cases A25, A26 and A62). Owner is
// the object that makes it and text is what the API server answered.
func forbidden(kind, owner, text string) Cause {
	text = refusal(owner, text)
	reason, advice := v1alpha1.ReasonPodForbidden, "Satisfy that policy, or ask who made it."
	switch {
	case notThere.MatchString(text):
		advice = "Create it, or correct the field of spec.pod that names it."
	case strings.Contains(text, "failed calling webhook"):
		advice = "Look at that webhook and its Service, or ask who made it."
	case quota.MatchString(text):
		reason, advice = v1alpha1.ReasonQuotaExceeded, "Raise the quota, or change pod.resources."
	case podSecurity.MatchString(text):
		reason, advice = v1alpha1.ReasonPodSecurityViolation, "Remove what lowers the security of the pod, or change the level of the namespace."
	case limitRange.MatchString(text):
		reason, advice = v1alpha1.ReasonLimitRangeViolation, "Set pod.resources within the LimitRange."
	}
	return Cause{reason, fmt.Sprintf("%s %s cannot make its pod (%s): %s. %s", kind, owner, failedCreate, text, advice)}
}

// refusal is the text of a refusal without what differs between two tries: the
// random name of the pod, what others use of a quota, the order of the
// findings of a LimitRange. It has no value of the pod either, which may be
// secret.
func refusal(owner, text string) string {
	// The alphabet of the names that Kubernetes makes up has no vowels.
	randomName := regexp.MustCompile(`\b` + regexp.QuoteMeta(owner) + `(?:-[bcdfghjklmnpqrstvwxz2456789]+)?-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	text = refusedPod.ReplaceAllString(strings.TrimSpace(text), "")
	text = randomName.ReplaceAllLiteralString(text, owner)
	text = quotaUsed.ReplaceAllString(text, "$1")
	text = callFailed.ReplaceAllString(text, "$1")
	text = invalidValue.ReplaceAllString(text, "$1")
	if findings := limitRange.FindAllString(text, -1); findings != nil {
		slices.Sort(findings)
		text = strings.Join(slices.Compact(findings), "; ")
	}
	return cmp.Or(cut(text), "the API server gave no reason")
}

// lastRefusal is the text of the newest Event that tells of a pod that could
// not be made; ok is false when there is none.
func lastRefusal(events []corev1.Event) (text string, ok bool) {
	refusals := slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool { return e.Reason != failedCreate })
	if len(refusals) == 0 {
		return "", false
	}
	newest := slices.MaxFunc(refusals, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(&a).Compare(lastSeen(&b)), cmp.Compare(a.Message, b.Message))
	})
	return newest.Message, true
}

// lastSeen reads the time of an Event from whichever field its writer used.
func lastSeen(event *corev1.Event) time.Time {
	seen := event.LastTimestamp.Time
	if event.EventTime.After(seen) {
		seen = event.EventTime.Time
	}
	if event.Series != nil && event.Series.LastObservedTime.After(seen) {
		seen = event.Series.LastObservedTime.Time
	}
	return seen
}

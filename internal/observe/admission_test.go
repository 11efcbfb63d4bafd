package observe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestForbidden(t *testing.T) {
	cases := map[string]struct {
		text     string
		reason   string
		contains string
	}{
		"quota":                     {`pods "c-1-x7k2p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`, v1alpha1.ReasonQuotaExceeded, "exceeded quota: small, requested: pods=1, limited: pods=3."},
		"quota that wants limits":   {`pods "c-1-x7k2p" is forbidden: failed quota: small: must specify limits.cpu for: agent`, v1alpha1.ReasonQuotaExceeded, "must specify limits.cpu"},
		"Pod Security":              {`pods "c-1-x7k2p" is forbidden: violates PodSecurity "restricted:latest": seccompProfile`, v1alpha1.ReasonPodSecurityViolation, "restricted:latest"},
		"LimitRange minimum":        {`pods "c-1-x7k2p" is forbidden: minimum memory usage per Container is 256Mi.  No request is specified`, v1alpha1.ReasonLimitRangeViolation, "is 256Mi. No request is specified."},
		"LimitRange ratio":          {`cpu max limit to request ratio per Pod is 2, but provided ratio is 4.000000`, v1alpha1.ReasonLimitRangeViolation, "ratio per Pod is 2"},
		"webhook":                   {`admission webhook "policy.test" denied the request: no`, v1alpha1.ReasonPodForbidden, `"policy.test" denied the request: no`},
		"missing priority class":    {`pods "c-1-x7k2p" is forbidden: no PriorityClass with name high was found`, v1alpha1.ReasonPodForbidden, "name high was found. Create it"},
		"missing runtime class":     {`pods "c-1-x7k2p" is forbidden: pod rejected: RuntimeClass "gvisor" not found`, v1alpha1.ReasonPodForbidden, `"gvisor" not found. Create it`},
		"webhook out of reach":      {`Internal error occurred: failed calling webhook "policy.test": Post "https://10.0.0.1": EOF`, v1alpha1.ReasonPodForbidden, `failed calling webhook "policy.test". Look at that webhook and its Service`},
		"missing service account":   {`pods "c-1-x7k2p" is forbidden: error looking up service account t/bot: serviceaccount "bot" not found`, v1alpha1.ReasonPodForbidden, `"bot" not found. Create it`},
		"A39 value of the pod":      {`Pod "c-1-x7k2p" is invalid: spec.containers[0].env[0].value: Invalid value: "canary": no`, v1alpha1.ReasonPodForbidden, "env[0].value: Invalid value."},
		"no text":                   {"", v1alpha1.ReasonPodForbidden, "gave no reason"},
		"text of another character": {strings.Repeat("ü", 3000), v1alpha1.ReasonPodForbidden, "ü…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cause := forbidden("Job", "c-1", c.text)
			assert.Equal(t, c.reason, cause.Reason)
			assert.Contains(t, cause.Message, "Job c-1 cannot make its pod (FailedCreate)")
			assert.Contains(t, cause.Message, c.contains)
			assert.NotContains(t, cause.Message, "x7k2p")
			assert.NotContains(t, cause.Message, "canary")
			assert.Less(t, len([]rune(cause.Message)), 1000)
		})
	}
}

func TestForbiddenSaysTheSameAtTheNextTry(t *testing.T) {
	groups := map[string][2]string{
		"name and use of a quota": {
			`pods "s-6c9f8b7d5-x7k2p" is forbidden: exceeded quota: s-quota-small, requested: cpu=1, used: cpu=3,pods=1, limited: cpu=3`,
			`pods "s-6c9f8b7d5-bcdfg" is forbidden: exceeded quota: s-quota-small, requested: cpu=1, used: cpu=4,pods=2, limited: cpu=3`},
		"order of a LimitRange's findings": {
			`pods "s-6c9f8b7d5-x7k2p" is forbidden: [minimum memory usage per Container is 256Mi, but request is 1Mi, maximum cpu usage per Pod is 1, but limit is 2]`,
			`pods "s-6c9f8b7d5-bcdfg" is forbidden: [maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Container is 256Mi, but request is 1Mi]`},
		"name inside a webhook's text": {
			`admission webhook "policy.test" denied the request: pod s-6c9f8b7d5-x7k2p has no team`,
			`admission webhook "policy.test" denied the request: pod s-6c9f8b7d5-bcdfg has no team`},
	}
	for name, texts := range groups {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, forbidden("Deployment", "s", texts[0]), forbidden("Deployment", "s", texts[1]))
		})
	}
	assert.Contains(t, forbidden("Deployment", "s", groups["name and use of a quota"][0]).Message, "s-quota-small", "names that look alike stay")
}

func TestLastRefusalReadsEveryFormOfTime(t *testing.T) {
	series := corev1.Event{Reason: failedCreate, Message: "series", Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(second(9).Time)}}
	micro := corev1.Event{Reason: failedCreate, Message: "micro", EventTime: metav1.NewMicroTime(second(8).Time)}
	text, ok := lastRefusal([]corev1.Event{failedCreateEvent(7, "old"), series, micro})
	assert.True(t, ok)
	assert.Equal(t, "series", text)
	_, ok = lastRefusal([]corev1.Event{{Reason: "SuccessfulCreate"}})
	assert.False(t, ok)
}

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Values of the label app.kubernetes.io/component: how the agent runs.
const (
	ComponentServe    = "serve"
	ComponentRun      = "run"
	ComponentSchedule = "schedule"
)

const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelManagedBy = "app.kubernetes.io/managed-by"
	labelComponent = "app.kubernetes.io/component"
)

const (
	// maxLabel is the length of a DNS label and of a label value.
	maxLabel = 63
	// maxCronJob leaves room for the 11 characters that the CronJob controller
	// adds to name a Job (kubernetes/kubernetes#63171, case A11). The operator
	// adds as many to name a Job or a ConfigMap.
	maxCronJob = maxLabel - 11
	// suffixDigits is the length of those suffixes without their dash.
	suffixDigits = 10
	// hashDigits of the full name end a name that had to be changed.
	hashDigits = 8
)

// Component returns how the agent runs: one of the Component constants.
func Component(agent *v1alpha1.LoomAgent) string {
	switch {
	case agent.Spec.Schedule != nil:
		return ComponentSchedule
	case agent.Variant() == v1alpha1.Command:
		return ComponentRun
	default:
		return ComponentServe
	}
}

// Labels returns the labels of a child and of its pods. Values are at most 63
// characters long for every agent.
func Labels(agent *v1alpha1.LoomAgent, component string) map[string]string {
	return map[string]string{
		labelName:           "loom-agent",
		labelInstance:       labelValue(agent),
		labelManagedBy:      v1alpha1.FieldOwner,
		labelComponent:      component,
		v1alpha1.AgentLabel: labelValue(agent),
	}
}

// Selector returns the labels that select the pods of a serving agent. A
// Deployment's selector can never change, so it names the agent and nothing
// that an edit or an upgrade could change (case A48).
func Selector(agent *v1alpha1.LoomAgent) map[string]string {
	return map[string]string{v1alpha1.AgentLabel: labelValue(agent), labelComponent: ComponentServe}
}

// SelectorString renders Selector for status.workload.selector.
func SelectorString(agent *v1alpha1.LoomAgent) string {
	return labels.Set(Selector(agent)).String()
}

// DeploymentName returns the name of the agent's Deployment.
func DeploymentName(agent *v1alpha1.LoomAgent) string { return labelValue(agent) }

// NetworkPolicyName returns the name of the agent's NetworkPolicy.
func NetworkPolicyName(agent *v1alpha1.LoomAgent) string { return labelValue(agent) }

// ServiceName returns the name of the agent's Service, a DNS label that starts
// with a letter.
func ServiceName(agent *v1alpha1.LoomAgent) string {
	return fit(agent.Name, maxLabel, validation.IsDNS1035Label)
}

// CronJobName returns the name of the agent's CronJob.
func CronJobName(agent *v1alpha1.LoomAgent) string {
	return fit(agent.Name, maxCronJob, validation.IsDNS1123Subdomain)
}

// JobName returns the name of the Job that runs a command. It depends on the
// agent's UID and generation alone, so that two passes over one generation mean
// the same Job (design section 7, case A06).
func JobName(agent *v1alpha1.LoomAgent) string {
	return CronJobName(agent) + "-" + digest(fmt.Sprintf("%s/%d", agent.UID, agent.Generation), suffixDigits)
}

// labelValue returns the agent's name as a label value.
func labelValue(agent *v1alpha1.LoomAgent) string {
	return fit(agent.Name, maxLabel, validation.IsDNS1123Subdomain)
}

var (
	changedName = regexp.MustCompile(fmt.Sprintf("--[0-9a-f]{%d}$", hashDigits))
	notInLabel  = regexp.MustCompile("[^a-z0-9-]")
)

// fit returns the name when it is valid and not too long. Otherwise it returns
// a DNS label made of the name's start and a hash of the whole, which keeps
// names apart that share their start (case A33). A name that looks like such a
// label is hashed too, so that no agent can be named after another one's child.
func fit(name string, limit int, invalid func(string) []string) string {
	if len(name) <= limit && len(invalid(name)) == 0 && !changedName.MatchString(name) {
		return name
	}
	suffix := "--" + digest(name, hashDigits)
	start := notInLabel.ReplaceAllString(name, "-")
	if start == "" || start[0] < 'a' {
		start = "loom-" + start
	}
	return start[:min(len(start), limit-len(suffix))] + suffix
}

// digest returns the first digits of the text's SHA-256, in hexadecimal.
func digest(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

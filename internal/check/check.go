// Package check decides whether a LoomAgent document can be run, before
// anything runs. It is pure: the verdict is a function of the document and of
// the operator's default image, the same on every machine and at every time.
//
// It judges the text alone. A Secret, ConfigMap or claim that does not exist is
// no reason to refuse: the agent waits for it (design section 4).
package check

import (
	"fmt"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Input is all that the verdict depends on.
type Input struct {
	// Agent is the document. A nil one is refused.
	Agent *v1alpha1.LoomAgent
	// DefaultImage is used when the document names no image. Empty: there is none.
	DefaultImage string
}

// Finding is one thing that is wrong with the document.
type Finding struct {
	// Field is the path as the user wrote it, such as spec.schedule.cron.
	Field string
	// Rule is the name of the broken rule, such as NeverFires.
	Rule string
	// Message says what is wrong and what to do, in full sentences. It never
	// holds the value of an environment variable or the text of a file.
	Message string
}

// A rule looks at one thing and returns what is wrong with it, without naming
// itself. It is never called without an agent.
type rule struct {
	name string
	find func(Input) []Finding
}

// The rules in the order in which their findings are reported: what runs, its
// surroundings, when it runs, the pod.
var rules = []rule{
	{"AgentName", agentName},
	{"AgentOrCommand", agentOrCommand},
	{"AgentDocument", agentDocument},
	{"ModelRoute", modelRoute},
	{"Image", image},

	{"EnvName", envName},
	{"EnvReserved", envReserved},
	{"EnvUnique", envUnique},
	{"Entrypoint", entrypoint},
	{"NulByte", nulByte},
	{"ArgumentSize", argumentSize},
	{"ArgumentTotal", argumentTotal},
	{"ConfigFileName", configFileName},
	{"ConfigFileUnique", configFileUnique},
	{"ConfigSize", configSize},
	{"MountPath", mountPath},
	{"MountClash", mountClash},
	{"Reference", reference},
	{"Confinement", confinement},
	{"BoundaryUpstream", boundaryUpstream},
	{"BoundaryAudience", boundaryAudience},
	{"BoundaryList", boundaryList},

	{"CronZone", cronZone},
	{"CronSyntax", cronSyntax},
	{"CronInterval", cronInterval},
	{"NeverFires", neverFires},
	{"TimeZone", timeZone},
	{"ScheduleInput", scheduleInput},

	{"Range", ranges},
	{"Choice", choices},
	{"Resources", resources},
	{"NodeSelector", nodeSelector},
	{"PodLabels", podLabels},
	{"PodAnnotations", podAnnotations},
	{"Probe", probes},
}

// Run applies every rule. It never panics, whatever the document holds.
func Run(in Input) Report {
	if in.Agent == nil {
		return Report{Findings: []Finding{{
			Field: "LoomAgent", Rule: "Document",
			Message: "There is no document to check. Give a LoomAgent.",
		}}}
	}
	var report Report
	for _, rule := range rules {
		for _, found := range rule.find(in) {
			found.Rule = rule.name
			report.Findings = append(report.Findings, found)
		}
	}
	return report
}

// broken makes a finding; Run adds the name of the rule.
func broken(field, format string, args ...any) Finding {
	return Finding{Field: field, Message: fmt.Sprintf(format, args...)}
}

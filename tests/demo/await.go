package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// namespace is where the samples run.
const namespace = "loom-demo"

const namespaceManifest = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + namespace + `
  labels:
    pod-security.kubernetes.io/enforce: restricted
`

// The samples, by what they show.
const (
	serving   = "support-desk"
	command   = "release-notes"
	scheduled = "morning-digest"
	refused   = "broken-report"
)

// wait is one condition of an agent that must come true in time.
type wait struct {
	agent, what, condition string
	timeout                time.Duration
}

// waits are in the order in which they come true. A schedule that starts a run
// each minute has its first end within a minute and the time of a run.
var waits = []wait{
	{refused, "is refused", "jsonpath={.status.check.exitCode}=1", 30 * time.Second},
	{command, "has completed", "condition=Ready", time.Minute},
	{serving, "serves", "condition=Ready", 90 * time.Second},
	{scheduled, "has had its first run", "jsonpath={.status.lastRun.finishedAt}", 100 * time.Second},
}

func (d *demo) await(ctx context.Context) error {
	for _, w := range waits {
		d.step("Waiting until %s %s", w.agent, w.what)
		err := d.kubectl(ctx, "wait", "loomagent/"+w.agent, "--for="+w.condition, fmt.Sprintf("--timeout=%.0fs", w.timeout.Seconds()))
		if err != nil {
			return fmt.Errorf("%s %s: that did not come true: %w\n%s", w.agent, w.what, err, d.cluster.Diagnose(ctx, namespace))
		}
	}
	return nil
}

// quoted joins the words of a command so that a shell would take it.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, "{}|;$*\" ") {
			words[i] = "'" + arg + "'"
		}
	}
	return strings.Join(words, " ")
}

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

var update = flag.Bool("update", false, "write docs/troubleshooting.md anew")

const troubleshootingHead = `# Troubleshooting

<!-- Written by "go test ./e2e -run Faults -update" in tests/. Do not edit. -->

` + "`kubectl get loomagents`" + ` shows STATE and REASON; ` + "`kubectl describe loomagent NAME`" + ` shows the message beside them, which names the object at fault
and says what to do. Below is what each fault looks like. A test makes each of them on a real node and compares this page
with what it saw. POD, JOB, NODE and NAMESPACE stand for names; a title that starts with a number is a case of the bug reports that the
project was built against.

All reasons are listed in [conditions.md](conditions.md). Tools that follow kstatus read the condition Ready by themselves; Argo CD does so
with [config/argocd/health.lua](../config/argocd/health.lua).
`

// assertTroubleshooting compares the page with what was seen, and logs it.
func assertTroubleshooting(t *testing.T, all []fault, seen map[string]v1alpha1.LoomAgentStatus, namespaces map[string]string) {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	page := troubleshooting(all, seen, placeholders(t, namespaces))
	t.Log(page)
	path := filepath.Join(root, "docs", "troubleshooting.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(written), page, "docs/troubleshooting.md is not what the node gave; its first line says how to write it")
}

// troubleshooting is the page: a table for each chapter.
func troubleshooting(all []fault, seen map[string]v1alpha1.LoomAgentStatus, hide func(agent, text string) string) string {
	var page strings.Builder
	page.WriteString(troubleshootingHead)
	inCell := strings.NewReplacer("|", `\|`, "\n", "<br>")
	for _, chapter := range chapters {
		fmt.Fprintf(&page, "\n## %s\n\n| Fault | Runs as | STATE | REASON | What is wrong, and what to do |\n|---|---|---|---|---|\n", chapter)
		for _, f := range all {
			if f.chapter == chapter {
				message := condition(seen[f.agent], v1alpha1.ConditionReady).Message
				fmt.Fprintf(&page, "| %s | %s | %s | %s | %s |\n", f.what, runsAs(f.spec), f.state, f.reason, inCell.Replace(hide(f.agent, message)))
			}
		}
	}
	return page.String()
}

func runsAs(spec v1alpha1.LoomAgentSpec) string {
	switch {
	case spec.Schedule != nil:
		return "CronJob"
	case spec.Command != nil:
		return "Job"
	default:
		return "Deployment"
	}
}

// placeholders hides what differs from one run of the test to the next: the
// parts of names that Kubernetes and the operator make up.
func placeholders(t *testing.T, namespaces map[string]string) func(agent, text string) string {
	t.Helper()
	var nodes corev1.NodeList
	require.NoError(t, cluster.Client.List(t.Context(), &nodes))
	var names []string
	for _, node := range nodes.Items {
		names = append(names, "from node "+node.Name, "from node NODE")
	}
	for _, namespace := range namespaces {
		names = append(names, namespace, "NAMESPACE")
	}
	fixed := strings.NewReplacer(names...)
	return func(agent, text string) string {
		text = fixed.Replace(text)
		text = regexp.MustCompile(`\b`+agent+`-[a-z0-9]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b`).ReplaceAllString(text, "POD")
		return regexp.MustCompile(`\b`+agent+`-(?:[0-9a-f]{10}|[0-9]{8})\b`).ReplaceAllString(text, "JOB")
	}
}

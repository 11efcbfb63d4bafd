package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The next version of the operator is another program and has another default
// image. It takes over and restarts no agent, runs no command again and writes
// nothing. The default image of a generation stays (docs/decisions/0009).
func TestUpgradeOfTheOperatorIsNotNoticed(t *testing.T) {
	w := quietWorld(t)
	cluster := *w.cluster
	cluster.OperatorBinary = release(t, "0.1.0")
	former := harness.StartOperator(t, &cluster)
	agents := w.runDefaults()
	w.calm()
	before, children := map[string]v1alpha1.LoomAgentStatus{}, w.versions()
	for _, agent := range agents {
		before[agent] = w.agent(agent).Status
	}
	require.NoError(t, former.Stop())
	writes := len(w.cluster.Writes(t, harness.OperatorUser(), w.namespace))

	cluster.OperatorBinary = release(t, "0.2.0")
	harness.StartOperator(t, &cluster, "--agent-image="+nextImage).Working(t)
	harness.Always(t, quiet/4, "the agents are woken", w.wake(agents))

	assert.Empty(t, w.cluster.Writes(t, harness.OperatorUser(), w.namespace)[writes:])
	assert.Equal(t, children, w.versions(), "no Deployment rolled, and no Job was made")
	for _, agent := range agents {
		assert.Equal(t, before[agent], w.agent(agent).Status, agent)
	}

	edit(w, "serve", func(agent *v1alpha1.LoomAgent) { agent.Spec.Serve = &v1alpha1.ServeSettings{Port: new(int32(9000))} })
	w.await("serve", "runs the new default after an edit", state(v1alpha1.StateRunning), runs(nextImage))
}

// nextImage is the default of the next version.
const nextImage = "registry.test/loom-agent:next"

// runDefaults makes an agent of each variant that names no image, and lets it
// get as far as it does.
func (w world) runDefaults() []string {
	w.Helper()
	for name, spec := range map[string]v1alpha1.LoomAgentSpec{"serve": serving(), "schedule": scheduled(), "ended": command(), "running": command()} {
		spec.Image = nil
		w.create(name, spec)
	}
	w.available("serve")
	w.inForce("schedule")
	w.completed("ended")
	w.pod("running")
	for _, name := range []string{"serve", "schedule", "running"} {
		w.await(name, "runs the default image", state(v1alpha1.StateRunning), runs(harness.AgentImage))
	}
	return []string{"serve", "schedule", "ended", "running"}
}

// wake gives the operator a reason to look at each agent again.
func (w world) wake(agents []string) func(context.Context) error {
	n := 0
	return func(context.Context) error {
		n++
		for _, agent := range agents {
			edit(w, agent, func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"touched": fmt.Sprint(n)} })
		}
		return nil
	}
}

// versions are the generations of what runs the agents, by kind and name.
func (w world) versions() map[string]int64 {
	w.Helper()
	found := map[string]int64{}
	for _, child := range w.children() {
		switch child.(type) {
		case *appsv1.Deployment, *batchv1.CronJob, *batchv1.Job:
			found[fmt.Sprintf("%T %s %s", child, child.GetName(), child.GetUID())] = child.GetGeneration()
		}
	}
	assert.Len(w, found, 4)
	return found
}

// release builds the operator of this tree as a version of its own, with more
// arguments of go build.
func release(t *testing.T, version string, arguments ...string) string {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "loom-operator-"+version)
	arguments = append([]string{"build", "-ldflags", "-X main.version=" + version, "-o", binary}, arguments...)
	build := exec.CommandContext(t.Context(), "go", append(arguments, ".")...)
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}

// relabeled builds an operator that gives every child and every pod another
// label, and so another template. The source is changed for the compiler only.
func relabeled(t *testing.T, version string) string {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	source, changed := filepath.Join(root, "internal", "workload", "names.go"), filepath.Join(t.TempDir(), "names.go")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Contains(t, string(text), `"loom-agent"`)
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), `"loom-agent"`, `"loom-agent-next"`, 1)), 0o600))
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	return release(t, version, "-overlay", overlay)
}

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// settling is how long the last writes may take once every agent shows the
// status that it keeps, such as a condition that follows a second later.
const settling = 10 * time.Second

// idleWindow is how long nothing may be written. IDLE=10m makes it ten minutes.
func idleWindow(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("IDLE")
	if text == "" {
		return time.Minute
	}
	window, err := time.ParseDuration(text)
	require.NoError(t, err, "IDLE")
	return window
}

// Everything that the operator writes for an agent is in the agent's namespace,
// and the audit log of the API server has each write. What it writes for itself
// elsewhere, the Lease of its leader, is not counted.
func TestIdleAgentsCauseNoWrite(t *testing.T) {
	t.Parallel()
	window := idleWindow(t)
	namespace := restricted(t)
	failing, broken, waiting, resting := commandSpec("run", "--exit-code=7"), servingSpec(), servingSpec(), servingSpec()
	broken.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/2","model":"fast","instructions":"Help."}`)
	waiting.SecretRef = &v1alpha1.SecretRef{Name: "nowhere"}
	resting.Suspend = new(true)
	isReady := func(status v1alpha1.LoomAgentStatus) bool {
		return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
	}
	isFor := func(reason string) func(v1alpha1.LoomAgentStatus) bool {
		return func(status v1alpha1.LoomAgentStatus) bool {
			return condition(status, v1alpha1.ConditionReady).Reason == reason
		}
	}
	for name, c := range map[string]struct {
		spec    v1alpha1.LoomAgentSpec
		settled func(v1alpha1.LoomAgentStatus) bool
	}{
		"serving":   {spec: servingSpec(), settled: isReady},
		"completed": {spec: commandSpec("run"), settled: isReady},
		"failed":    {spec: failing, settled: inState(v1alpha1.StateFailed)},
		"scheduled": {spec: scheduleSpec(newYear), settled: isReady},
		"refused":   {spec: broken, settled: inState(v1alpha1.StateRefused)},
		"waiting":   {spec: waiting, settled: isFor(v1alpha1.ReasonReferenceMissing)},
		"suspended": {spec: resting, settled: isFor(v1alpha1.ReasonSuspended)},
	} {
		await(t, create(t, namespace, name, c.spec), "has settled", c.settled)
	}
	// What the last change has set off is written within a few seconds.
	settled := time.Now().Add(settling)
	select {
	case <-time.After(settling + window):
	case <-t.Context().Done():
	}
	writes := cluster.Writes(t, harness.OperatorUser(), namespace)
	require.NotEmpty(t, writes, "the audit log has what the operator wrote before")
	for _, write := range writes {
		assert.True(t, write.At.Before(settled), "written while nothing happened, at %s: %s", write.At, write)
	}
}

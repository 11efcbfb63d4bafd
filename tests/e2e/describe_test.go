package e2e

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// assertDescribes reads what a run printed about itself.
func assertDescribes(t *testing.T, pod corev1.Pod, agent *v1alpha1.LoomAgent, more map[string]fact) {
	t.Helper()
	printed := kubectl(t, pod.Namespace, "logs", pod.Name, "--container", v1alpha1.AgentContainer)
	assertDescription(t, []byte(printed), agent, "run", more)
}

// assertDescription compares what the sample agent says of itself with the
// document: its files, and no other ones.
func assertDescription(t *testing.T, text []byte, agent *v1alpha1.LoomAgent, mode string, more map[string]fact) {
	t.Helper()
	var said struct {
		Name, Namespace, Mode, Model string
		Files                        map[string]fact
	}
	require.NoError(t, json.Unmarshal(text, &said), string(text))
	assert.Equal(t, []string{agent.Name, agent.Namespace, mode, "fast"}, []string{said.Name, said.Namespace, said.Mode, said.Model})
	want := wantFiles(t, agent)
	maps.Copy(want, more)
	assert.Equal(t, want, said.Files)
}

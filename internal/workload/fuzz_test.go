package workload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// FuzzAnyDocumentGivesChildren feeds documents that no check has seen. Whatever
// they hold, the builders do not panic, give the same answer twice, leave the
// document alone, and keep what a server-side apply needs: no name twice.
func FuzzAnyDocumentGivesChildren(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.agent.yaml"))
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		document, err := yaml.YAMLToJSON(text)
		require.NoError(f, err)
		f.Add(document)
	}
	for _, spec := range []string{
		`null`, `{}`, `{"agent":null}`, `{"routes":null,"schedule":{}}`, `{"schedule":{"input":{}}}`,
		`{"schedule":{"input":{"configMapKeyRef":{}}}}`, `{"boundary":{"model":{},"git":{},"connectors":{}}}`,
		`{"serve":{"probes":{"startup":{},"readiness":{"httpGet":{}},"liveness":{"grpc":{}}}}}`,
		`{"pod":{"resources":{"limits":{"cpu":"1e-9"}}}}`, `{"secretFiles":{},"secretRef":{},"workspace":{}}`,
		`{"configFiles":[{},{"name":"../x"},{"name":"a/b"},{"name":"."}]}`, `{"env":[{},{},{"name":"HOME"}]}`,
		`{"seccompProfile":{},"appArmorProfile":{}}`, `{"command":{"entrypoint":[],"args":null}}`, `{"image":{}}`,
	} {
		f.Add([]byte(`{"spec":` + spec + `}`))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		agent := &v1alpha1.LoomAgent{}
		if json.Unmarshal(document, agent) != nil {
			return
		}
		before := agent.DeepCopy()
		in := Input{Agent: agent, DefaultImage: testImage, ReferencesDigest: "x"}
		first := append(Children(in), Deployment(in), Job(in), CronJob(in), Service(in))
		again := append(Children(in), Deployment(in), Job(in), CronJob(in), Service(in))
		Lowered(agent)
		TTL(agent)

		assert.Equal(t, first, again)
		assert.Equal(t, before, agent)
		for component, template := range templates(in) {
			variables(t, template.Spec.Containers[0])
			assertEachOnce(t, template.Spec.Volumes, func(v corev1.Volume) string { return v.Name })
			assert.Equal(t, component, template.Labels[labelComponent])
		}
	})
}

func assertEachOnce[T any](t *testing.T, list []T, key func(T) string) {
	t.Helper()
	seen := map[string]bool{}
	for _, item := range list {
		assert.False(t, seen[key(item)], key(item))
		seen[key(item)] = true
	}
}

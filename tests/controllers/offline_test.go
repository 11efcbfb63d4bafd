package controllers_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/cli"
)

// The command without a cluster asks the schema as a cluster does: what it
// accepts, an API server stores.
func TestWhatTheCommandLineAcceptsTheAPIServerStores(t *testing.T) {
	w := quietWorld(t)
	file := filepath.Join(t.TempDir(), "agent.yaml")
	verdicts := map[int]int{}
	for path, document := range leaves(specSchema(t)) {
		for _, value := range append(document.values, int64(1), "", nil) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": document.with(value)}}
			object.Object["spec"].(map[string]any)["command"] = map[string]any{}
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
			object.SetName("leaf")
			text, err := yaml.Marshal(object.Object)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o600))

			code := cli.Run("v1", []string{"check", "-f", file}, io.Discard, io.Discard)
			object.SetNamespace(w.namespace)
			stored := w.Create(t.Context(), object, client.DryRunAll)

			verdicts[code]++
			if code == 0 {
				assert.NoError(t, stored, "%v in %s", value, path)
			}
		}
	}
	assert.Greater(t, verdicts[0], 20, verdicts)
	assert.Greater(t, verdicts[1], 20, verdicts)
}

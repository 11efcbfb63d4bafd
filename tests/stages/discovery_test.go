package stages_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// TestStatusGoesToTheObjectWithoutASubresource uses the example's CRD in another group and without subresources.
func TestStatusGoesToTheObjectWithoutASubresource(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	root, err := harness.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "examples", "settings", "manifests", "crd.yaml"))
	require.NoError(t, err)
	const group = "plain.examples.beyond10x.dev"
	plain := strings.NewReplacer("examples.beyond10x.dev", group, "subresources: {status: {}}", "subresources: {}").Replace(string(text))
	require.NoError(t, w.cluster.Apply(t.Context(), []byte(plain)))

	version := schema.GroupVersion{Group: group, Version: "v1"}
	scheme := newScheme(t, func(s *runtime.Scheme) error {
		s.AddKnownTypes(version, &v1.Settings{}, &v1.SettingsList{})
		metav1.AddToGroupVersion(s, version)
		return nil
	})
	w.client, err = client.New(w.cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	harness.Eventually(t, soon, "the plain Settings are served", func(ctx context.Context) error { return w.client.List(ctx, &v1.SettingsList{}) })

	w.start(r, w.cluster.Config, scheme, r.one(nothing, stages.Events(false)))
	w.create("hello")
	r.settles(t, soon, map[string]int{"other": 1, "call": 1})
	assert.Equal(t, map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"}, conditions(w.get()))
	assert.Equal(t, "hello", w.get().Spec.Message)
}

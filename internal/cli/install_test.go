package cli_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/config"
)

func TestInstallPrintsEachManifestOnceAndInOrder(t *testing.T) {
	got := run("install")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Empty(t, got.stderr)
	assert.NotContains(t, got.stdout, "\nstatus:")
	assert.NotContains(t, got.stdout, "kustomize")

	var ids, kinds []string
	for _, object := range objects(t, got.stdout) {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		ids = append(ids, fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName()))
		kinds = append(kinds, kind)
	}
	assert.Equal(t, []string{"Namespace", "CustomResourceDefinition"}, kinds[:2])
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids))
	assert.Len(t, ids, len(manifests(t)))
}

// manifests lists the embedded files that hold an object.
func manifests(t *testing.T) []string {
	t.Helper()
	var files []string
	require.NoError(t, fs.WalkDir(config.Files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Base(file) != "kustomization.yaml" {
			files = append(files, file)
		}
		return err
	}))
	return files
}

func TestInstallSetsTheImages(t *testing.T) {
	for name, c := range map[string]struct {
		args            []string
		operator, agent string
	}{
		"those of this version": {nil, "ghcr.io/beyond10x/loom-operator:v1.2.3", "ghcr.io/beyond10x/loom-agent:v1.2.3"},
		"others":                {[]string{"--image=a/operator:1", "--agent-image=b/agent:2"}, "a/operator:1", "b/agent:2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(append([]string{"install"}, c.args...)...)
			require.Equal(t, 0, got.code, got.stderr)

			want := &appsv1.Deployment{}
			text, err := config.Files.ReadFile("manager/deployment.yaml")
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(text, want))
			container := &want.Spec.Template.Spec.Containers[0]
			container.Image = c.operator
			image := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == "RELATED_IMAGE_LOOM_AGENT" })
			require.GreaterOrEqual(t, image, 0)
			container.Env[image].Value = c.agent

			assert.Equal(t, want, deployment(t, got.stdout))
			assert.Equal(t, 1, strings.Count(got.stdout, c.operator))
			assert.Equal(t, 1, strings.Count(got.stdout, c.agent))
		})
	}
}

func deployment(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	for _, object := range objects(t, text) {
		if found, ok := object.(*appsv1.Deployment); ok {
			return found
		}
	}
	require.Fail(t, "no Deployment")
	return nil
}

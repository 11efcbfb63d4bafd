package pack

import (
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The image without Docker is the one that bundle.Dockerfile describes.
func TestBundleImageIsTheOneOfItsDockerfile(t *testing.T) {
	built, err := BuildBundle(Options{Root: root(t), Output: t.TempDir(), Version: version, Platforms: []v1.Platform{amd64, arm64}})
	require.NoError(t, err)
	assert.Equal(t, "ghcr.io/beyond10x/loom-operator-bundle:v1.2.3", built.Reference)
	assert.Equal(t, "loom-operator-bundle.tar", filepath.Base(built.Path))

	wanted, labels := map[string][]byte{}, map[string]string{}
	for _, line := range dockerfile(t, "bundle.Dockerfile") {
		switch line.name {
		case "FROM":
			assert.Equal(t, "scratch", line.text)
		case "LABEL":
			key, value, _ := strings.Cut(line.text, "=")
			labels[key] = value
		case "COPY":
			from, to, _ := strings.Cut(line.text, " ")
			below, err := filesBelow(filepath.Join(root(t), from))
			require.NoError(t, err)
			for _, f := range below {
				wanted[strings.TrimPrefix(to, "/")+f.name] = f.content
			}
		default:
			t.Errorf("this test does not know what %s does to an image", line.name)
		}
	}
	entry, index := unpack(t, built.Path)
	assert.Equal(t, built.Digest, entry.Digest.String())
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	for i := range manifest.Manifests {
		image, err := index.Image(manifest.Manifests[i].Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, v1.Config{Labels: labels}, config.Config)
		content := mutate.Extract(image)
		assert.Equal(t, wanted, files(t, content))
		require.NoError(t, content.Close())
	}
}

package catalog_test

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/catalog"
)

// A version that was released before is read from its registry.
func TestABundleIsPulled(t *testing.T) {
	reference := push(t, "metadata/annotations.yaml", "manifests/one.yaml")
	folder := t.TempDir()
	require.NoError(t, catalog.Pull(t.Context(), reference, folder))
	for _, file := range []string{"metadata/annotations.yaml", "manifests/one.yaml"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err)
		assert.Equal(t, file, string(text))
	}
}

func TestABundleThatCannotBePulledIsNamed(t *testing.T) {
	reference := push(t, "metadata/annotations.yaml")
	for image, want := range map[string]string{
		reference + "-missing": "pull " + reference + "-missing",
		"no name":              `read the name "no name"`,
	} {
		assert.ErrorContains(t, catalog.Pull(t.Context(), image, t.TempDir()), want)
	}
	none := filepath.Join(t.TempDir(), "none")
	assert.ErrorContains(t, catalog.Pull(t.Context(), reference, none), "open the folder for "+reference)
}

// An image cannot write outside of its folder.
func TestABundleStaysInItsFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "inside")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, catalog.Pull(t.Context(), push(t, "../outside"), folder))
	assert.NoFileExists(t, filepath.Join(folder, "..", "outside"))
}

// push serves a registry with an image that has the files, each with its own
// name for content.
func push(t *testing.T, files ...string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/bundle:v1"
	parsed, err := name.ParseReference(reference)
	require.NoError(t, err)
	require.NoError(t, remote.Write(parsed, imageOf(t, files...)))
	return reference
}

func imageOf(t *testing.T, files ...string) v1.Image {
	t.Helper()
	layer, err := tarball.LayerFromFile(archiveOf(t, files...))
	require.NoError(t, err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	return image
}

func archiveOf(t *testing.T, files ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layer.tar")
	out, err := os.Create(path)
	require.NoError(t, err)
	writer := tar.NewWriter(out)
	for _, file := range files {
		require.NoError(t, writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Size: int64(len(file)), Mode: 0o644}))
		_, err := writer.Write([]byte(file))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, out.Close())
	return path
}

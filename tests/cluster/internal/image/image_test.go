package image

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPackedImageRunsTheProgramAsTheUser(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "hello")
	require.NoError(t, os.WriteFile(program, []byte("binary"), 0o600))
	archive := filepath.Join(dir, "hello.tar")
	require.NoError(t, Pack(archive, "loom.local/hello:1", program, "65532:65532"))

	tag, err := name.NewTag("loom.local/hello:1")
	require.NoError(t, err)
	packed, err := tarball.ImageFromPath(archive, &tag)
	require.NoError(t, err)
	config, err := packed.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, []string{"/hello"}, config.Config.Entrypoint)
	assert.Equal(t, "65532:65532", config.Config.User)
	assert.Equal(t, "linux", config.OS)

	files := tar.NewReader(mutate.Extract(packed))
	header, err := files.Next()
	require.NoError(t, err)
	assert.Equal(t, "hello", header.Name)
	assert.Equal(t, int64(0o755), header.Mode, "executable, whatever the file was")
	content, err := io.ReadAll(files)
	require.NoError(t, err)
	assert.Equal(t, "binary", string(content))
	_, err = files.Next()
	assert.ErrorIs(t, err, io.EOF)
}

func TestPackNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "image.tar")
	assert.ErrorContains(t, Pack(archive, "Not A Tag", "program", "1:1"), "Not A Tag")
	assert.ErrorContains(t, Pack(archive, "loom.local/hello:1", filepath.Join(dir, "missing"), "1:1"), "missing")
}

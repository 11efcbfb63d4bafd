package pack

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	amd64 = v1.Platform{OS: "linux", Architecture: "amd64"}
	arm64 = v1.Platform{OS: "linux", Architecture: "arm64"}
)

const version = "1.2.3"

func find(t *testing.T, short string) Program {
	t.Helper()
	program, err := Find(short)
	require.NoError(t, err)
	return program
}

// packed is an index with one image per platform, each of which holds the
// architecture's name as its program.
func packed(t *testing.T, program Program, platforms ...v1.Platform) v1.ImageIndex {
	t.Helper()
	var images []v1.Image
	for _, platform := range platforms {
		image, err := program.image([]byte(platform.Architecture), version, platform)
		require.NoError(t, err)
		images = append(images, image)
	}
	return index(images, platforms)
}

// unpack reads an archive back and returns its one image, by the entry that has
// its tag. The other entry has its digest for a name.
func unpack(t *testing.T, archive string) (v1.Descriptor, v1.ImageIndex) {
	t.Helper()
	file, err := os.Open(archive)
	require.NoError(t, err)
	defer file.Close()
	dir := t.TempDir()
	for name, content := range files(t, file) {
		target := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
		require.NoError(t, os.WriteFile(target, content, 0o644))
	}
	top, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	manifest, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	entry, pinned := manifest.Manifests[0], manifest.Manifests[1]
	assert.Equal(t, entry.Digest, pinned.Digest)
	repository, _, _ := strings.Cut(entry.Annotations[nameAnnotation], ":")
	assert.Equal(t, map[string]string{nameAnnotation: repository + "@" + entry.Digest.String()}, pinned.Annotations)
	index, err := top.ImageIndex(entry.Digest)
	require.NoError(t, err)
	return entry, index
}

// files reads a tar archive.
func files(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	content := map[string][]byte{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return content
		}
		require.NoError(t, err)
		content[header.Name], err = io.ReadAll(reader)
		require.NoError(t, err)
	}
}

func TestArchiveReadsBackAsTheImage(t *testing.T) {
	for short, name := range map[string]string{"operator": "loom-operator", "agent": "loom-agent", "scorecard": "loom-scorecard"} {
		t.Run(name, func(t *testing.T) {
			program := find(t, short)
			reference := program.Reference(version)
			archive := filepath.Join(t.TempDir(), "new", "image.tar")
			require.NoError(t, WriteArchive(archive, reference, packed(t, program, amd64, arm64)))

			entry, index := unpack(t, archive)
			require.NoError(t, validate.Index(index))
			assert.Equal(t, map[string]string{
				"io.containerd.image.name":          "ghcr.io/beyond10x/" + name + ":1.2.3",
				"org.opencontainers.image.ref.name": "1.2.3",
			}, entry.Annotations)
			manifest, err := index.IndexManifest()
			require.NoError(t, err)
			require.Len(t, manifest.Manifests, 2)
			for i, platform := range []v1.Platform{amd64, arm64} {
				assert.Equal(t, &platform, manifest.Manifests[i].Platform)
				image, err := index.Image(manifest.Manifests[i].Digest)
				require.NoError(t, err)
				assertImage(t, image, name, platform)
			}
		})
	}
}

func assertImage(t *testing.T, image v1.Image, name string, platform v1.Platform) {
	t.Helper()
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, &platform, config.Platform())
	assert.Equal(t, v1.Config{
		User:       "65532:65532",
		Entrypoint: []string{"/" + name},
		Labels: map[string]string{
			"org.opencontainers.image.title":    name,
			"org.opencontainers.image.source":   "https://github.com/beyond10x/loom-operator",
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version":  "1.2.3",
		},
	}, config.Config)

	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	defer content.Close()
	reader := tar.NewReader(content)
	header, err := reader.Next()
	require.NoError(t, err)
	assert.Equal(t, name, header.Name)
	assert.Equal(t, int64(0o755), header.Mode)
	assert.Equal(t, []int{0, 0}, []int{header.Uid, header.Gid})
	assert.Equal(t, int64(0), header.ModTime.Unix())
	program, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, platform.Architecture, string(program))
	_, err = reader.Next()
	assert.ErrorIs(t, err, io.EOF, "the image holds nothing but its program")
}

func TestSameImageGivesSameBytes(t *testing.T) {
	program := find(t, "agent")
	var archives [2][]byte
	for i := range archives {
		file := filepath.Join(t.TempDir(), "image.tar")
		require.NoError(t, WriteArchive(file, program.Reference("dev"), packed(t, program, amd64, arm64)))
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		archives[i] = content
	}
	assert.True(t, bytes.Equal(archives[0], archives[1]))
}

func TestArchiveIsCompleteOrNotThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "image.tar")
	program := find(t, "agent")
	require.NoError(t, WriteArchive(file, program.Reference("one"), packed(t, program, amd64)))
	require.NoError(t, WriteArchive(file, program.Reference("two"), packed(t, program, amd64)), "a later one replaces it")
	entry, _ := unpack(t, file)
	assert.Equal(t, "two", entry.Annotations[tagAnnotation])

	err := WriteArchive(file, program.Reference("not a tag"), packed(t, program, amd64))
	assert.ErrorContains(t, err, `"ghcr.io/beyond10x/loom-agent:not a tag" cannot be used`)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "only the archive is left")
	entry, _ = unpack(t, file)
	assert.Equal(t, "two", entry.Annotations[tagAnnotation], "a failure leaves the archive alone")
}

func TestPlatforms(t *testing.T) {
	got, err := ParsePlatforms("linux/amd64, linux/arm64")
	require.NoError(t, err)
	assert.Equal(t, []v1.Platform{amd64, arm64}, got)

	for name, list := range map[string]string{
		"nothing":                     "",
		"an empty entry":              "linux/amd64,",
		"no architecture":             "linux",
		"another operating system":    "windows/amd64",
		"a variant":                   "linux/arm/v7",
		"too many parts":              "linux/a/b/c",
		"an operating system version": "linux/amd64:1",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePlatforms(list)
			assert.ErrorContains(t, err, "platform ")
		})
	}
}

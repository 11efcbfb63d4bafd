package pack

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func root(t *testing.T) string {
	t.Helper()
	found, err := FindRoot(".")
	require.NoError(t, err)
	return found
}

func TestBuildOfTheSameSourceHasTheSameDigest(t *testing.T) {
	program := find(t, "agent")
	var built [2]Archive
	for i := range built {
		var err error
		built[i], err = Build(t.Context(), program, Options{
			Root: root(t), Output: t.TempDir(), Version: version, Platforms: []v1.Platform{amd64, arm64},
		})
		require.NoError(t, err)
	}
	assert.Equal(t, built[0].Digest, built[1].Digest)
	assert.Equal(t, "ghcr.io/beyond10x/loom-agent:1.2.3", built[0].Reference)
	assert.Equal(t, "loom-agent.tar", filepath.Base(built[0].Path))
	require.Len(t, built[0].Builds, 2)
	assert.Equal(t, rootModule+"/tests/agent", built[0].Builds[1].Path)

	entry, index := unpack(t, built[0].Path)
	assert.Equal(t, built[0].Digest, entry.Digest.String())
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	for i, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		image, err := index.Image(manifest.Manifests[i].Digest)
		require.NoError(t, err)
		assertStatic(t, programOf(t, image), machine)
	}
}

// programOf extracts the one program of an image.
func programOf(t *testing.T, image v1.Image) []byte {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	return files(t, content)["loom-agent"]
}

func assertStatic(t *testing.T, program []byte, machine elf.Machine) {
	t.Helper()
	binary, err := elf.NewFile(bytes.NewReader(program))
	require.NoError(t, err)
	assert.Equal(t, machine, binary.Machine)
	for _, segment := range binary.Progs {
		assert.NotEqual(t, elf.PT_INTERP, segment.Type, "a program that needs a loader cannot start in an empty image")
	}
	assert.NotContains(t, string(program), root(t), "the program must not depend on where it was built")
}

func TestProgramOfAnImageRunsAndKnowsItsVersion(t *testing.T) {
	binary, err := find(t, "agent").compile(t.Context(), root(t), version, v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.WriteFile(file, binary, 0o755))
	run := exec.Command(file, "run")
	run.Env = []string{"LOOM_CONFIG_DIR=/none"}
	out, err := run.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), `"version":"1.2.3"`)
}

func TestBuildThatFailsShowsWhatTheCompilerSaid(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module broken\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { missing() }\n"), 0o644))
	output := t.TempDir()
	_, err := Build(t.Context(), find(t, "operator"), Options{
		Root: dir, Output: output, Version: version, Platforms: []v1.Platform{amd64},
	})
	assert.ErrorContains(t, err, "building loom-operator for linux/amd64")
	assert.ErrorContains(t, err, "undefined: missing")
	left, err := os.ReadDir(output)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRootOfTheRepositoryIsFound(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "tests", "images")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	_, err := FindRoot(deep)
	assert.ErrorContains(t, err, "holds the module github.com/beyond10x/loom-operator")

	write := func(folder, module string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module "+module+"\n"), 0o644))
	}
	write(filepath.Join(dir, "tests"), rootModule+"/tests")
	write(dir, rootModule)
	found, err := FindRoot(deep)
	require.NoError(t, err)
	assert.Equal(t, dir, found)
}

func TestUnknownImageIsRefused(t *testing.T) {
	_, err := Find("manager")
	assert.EqualError(t, err, `there is no image "manager": the images are agent, operator, scorecard`)
}

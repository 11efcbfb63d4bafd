package build

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionsComeFromGoMod(t *testing.T) {
	b := builder{module: filepath.Join("..", ".."), progress: io.Discard}
	versions, err := b.versions(t.Context())
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	assert.Contains(t, string(text), kubernetes+" "+versions.Kubernetes+" ")
	assert.Contains(t, string(text), etcd+" "+versions.Etcd+" ")
}

func TestVersionFlags(t *testing.T) {
	flags := ldflags(Versions{Kubernetes: "v1.37.2", Etcd: "v3.7.3"})
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.37.2",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/component-base/version.gitMinor=37",
		"-X k8s.io/client-go/pkg/version.gitVersion=v1.37.2",
	} {
		assert.Contains(t, flags, want)
	}
}

func TestMissingPrograms(t *testing.T) {
	bin := t.TempDir()
	b := builder{bin: bin, progress: io.Discard}
	versions := Versions{Kubernetes: "v1.37.2", Etcd: "v3.7.3"}
	assert.Equal(t, programs, b.missing(versions), "an empty directory lacks all")

	// A Go program of another module stands for one of another version, and a text for a broken one.
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "etcd")))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "kubelet"), []byte("no program"), 0o700))
	assert.Equal(t, programs, b.missing(versions))
}

func TestUpToDate(t *testing.T) {
	built := &debug.BuildInfo{
		Main:     debug.Module{Path: kubernetes, Version: "v1.37.2"},
		Settings: []debug.BuildSetting{{Key: "-compiler", Value: "gc"}, {Key: "-ldflags", Value: "-s -w"}},
	}
	assert.True(t, upToDate(built, "v1.37.2", "-s -w"))
	assert.False(t, upToDate(built, "v1.37.3", "-s -w"), "another version")
	assert.False(t, upToDate(built, "v1.37.2", "-s"), "other flags")
	assert.False(t, upToDate(&debug.BuildInfo{Main: built.Main}, "v1.37.2", "-s -w"), "flags unknown")
}

func TestFollowKeepsTheEndOfTheOutput(t *testing.T) {
	var progress strings.Builder
	b := builder{progress: &progress}
	output := strings.Repeat("k8s.io/some/package\n", 100) + "undefined: x\n"
	tail := b.follow(strings.NewReader(output), "[1 of 7] etcd", time.Now().Add(-time.Hour))
	assert.True(t, strings.HasSuffix(tail, "undefined: x"))
	assert.LessOrEqual(t, strings.Count(tail, "\n"), 20)
	assert.Contains(t, progress.String(), "[1 of 7] etcd: compiled 1 packages in 1h0m0s")
}

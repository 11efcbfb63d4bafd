package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShowTellsHowTheContainerLooks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/known", "abc")
	got := runAgent(t, []string{"SECRET=abc", "EMPTY="}, "show", dir+"/known", dir+"/missing")
	require.Zero(t, got.code, got.stderr)
	assert.NotContains(t, got.stdout, `"abc"`, "a value is never shown")

	seen := decode(t, []byte(got.stdout))
	// The example of FIPS 180 for SHA-256.
	abc := map[string]any{"bytes": 3.0, "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	assert.Equal(t, map[string]any{
		dir + "/known":   abc,
		dir + "/missing": map[string]any{"error": "open " + dir + "/missing: no such file or directory"},
	}, seen["files"])
	environment := seen["environment"].(map[string]any)
	assert.Equal(t, []string{"EMPTY", "SECRET", asAgent}, slices.Sorted(maps.Keys(environment)))
	assert.Equal(t, abc, environment["SECRET"])
	assert.Equal(t, float64(os.Getuid()), seen["uid"])
	assert.Equal(t, float64(os.Getgid()), seen["gid"])
	here, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, here, seen["workingDirectory"])
	assert.Equal(t, false, seen["rootReadOnly"])
}

func TestReadOnlyMounts(t *testing.T) {
	writable := t.TempDir()
	readOnly, err := isReadOnly(writable)
	require.NoError(t, err)
	assert.False(t, readOnly)
	left, err := os.ReadDir(writable)
	require.NoError(t, err)
	assert.Empty(t, left, "the trial left nothing behind")

	_, err = isReadOnly(writable + "/none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestFactsOfAProjectedVolume(t *testing.T) {
	// The kubelet writes the files into a folder with the time as its name and
	// links to it (its atomic writer).
	dir := t.TempDir()
	write(t, dir+"/..2026_01_02/agent.json", "{}")
	write(t, dir+"/..2026_01_02/files/a", "a")
	write(t, dir+"/..2026_01_02/files/tokens", "a file of the user")
	write(t, dir+"/..2026_01_02/tokens/model", "secret")
	require.NoError(t, os.Symlink("..2026_01_02", dir+"/..data"))
	for _, name := range []string{"agent.json", "files", "tokens"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	facts := map[string]fact{}
	require.NoError(t, addFacts(facts, dir, ""))
	assert.Equal(t, map[string]fact{
		"agent.json":   factOf([]byte("{}")),
		"files/a":      factOf([]byte("a")),
		"files/tokens": factOf([]byte("a file of the user")),
	}, facts)
}

func TestConfigurationThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("nowhere", dir+"/..data"))
	require.NoError(t, os.Symlink("..data/input", dir+"/input"))
	assert.Error(t, addFacts(map[string]fact{}, dir, ""))
}

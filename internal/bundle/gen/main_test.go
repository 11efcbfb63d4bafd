package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const digest = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"

func TestTheFolderIsReplaced(t *testing.T) {
	root := repository(t)
	stale := filepath.Join(root, "bundle", "manifests", "stale.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(stale), 0o755))
	require.NoError(t, os.WriteFile(stale, []byte("kind: Stale\n"), 0o644))

	require.NoError(t, run([]string{root}, strings.NewReader(""), io.Discard))

	assert.NoFileExists(t, stale)
	assert.FileExists(t, filepath.Join(root, "bundle.Dockerfile"))
	assert.FileExists(t, filepath.Join(root, "bundle", "manifests", "loom-operator.clusterserviceversion.yaml"))
}

func TestAReleaseIsRecordedAndGenerated(t *testing.T) {
	root := repository(t)
	images := "o.tar\tghcr.io/beyond10x/loom-operator:0.9.0\t" + digest + "\na.tar\tghcr.io/beyond10x/loom-agent:0.9.0\t" + digest + "\n" +
		"s.tar\tghcr.io/beyond10x/loom-scorecard:0.9.0\t" + digest + "\n"

	require.NoError(t, run([]string{
		"-version", "0.9.0", "-created", "2026-12-01T00:00:00Z", "-platforms", "linux/amd64", root,
	}, strings.NewReader(images), io.Discard))

	csv, err := os.ReadFile(filepath.Join(root, "bundle", "manifests", "loom-operator.clusterserviceversion.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(csv), "name: loom-operator.v0.9.0\n")
	assert.Contains(t, string(csv), "image: ghcr.io/beyond10x/loom-operator@"+digest)
	assert.NotContains(t, string(csv), "arm64")
}

func TestAFaultLeavesTheBundleAsItIs(t *testing.T) {
	root := repository(t)
	require.NoError(t, run([]string{root}, strings.NewReader(""), io.Discard))
	require.NoError(t, os.Remove(filepath.Join(root, "config", "bundle", "icon.svg")))

	assert.ErrorContains(t, run([]string{root}, strings.NewReader(""), io.Discard), "icon.svg")

	assert.FileExists(t, filepath.Join(root, "bundle", "manifests", "loom-operator.clusterserviceversion.yaml"))
}

func TestUsageIsExplained(t *testing.T) {
	var out strings.Builder
	require.Error(t, run(nil, strings.NewReader(""), &out))
	assert.Contains(t, out.String(), "usage: gen [flags] ROOT")
}

// repository is a copy of what the bundle is built from.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "config"), os.DirFS("../../../config")))
	return root
}

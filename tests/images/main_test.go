package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestImagesPrintsArchiveNameAndDigest(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{"-o", dir, "--platform", "linux/amd64,linux/arm64", "--version", "1.2.3", "agent"}, &stdout, &stderr)
	require.NoError(t, err)
	fields := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\t")
	require.Len(t, fields, 3)
	assert.Equal(t, filepath.Join(dir, "loom-agent.tar"), fields[0])
	assert.FileExists(t, fields[0])
	assert.Equal(t, "ghcr.io/beyond10x/loom-agent:1.2.3", fields[1])
	assert.Regexp(t, "^sha256:[0-9a-f]{64}$", fields[2])
	assert.Empty(t, stderr.String())
}

func TestImagesRefusesWhatItCannotBuild(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		message string
	}{
		"no image":                     {nil, "no image was named"},
		"an image that is not one":     {[]string{"agent", "manager"}, `there is no image "manager"`},
		"a platform that is not Linux": {[]string{"--platform", "darwin/arm64", "agent"}, `platform "darwin/arm64"`},
		"a flag that is not one":       {[]string{"--push", "agent"}, "-push"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var stdout, stderr bytes.Buffer
			err := run(t.Context(), append([]string{"-o", dir}, c.args...), &stdout, &stderr)
			assert.ErrorContains(t, err, c.message)
			assert.Empty(t, stdout.String())
			assert.NoFileExists(t, filepath.Join(dir, "loom-agent.tar"), "nothing is built when anything is refused")
		})
	}
}

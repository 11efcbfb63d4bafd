package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTarUnpacksABundle(t *testing.T) {
	folder := t.TempDir()
	archive := packed(t, tar.Header{Name: "manifests", Typeflag: tar.TypeDir},
		tar.Header{Name: "manifests/csv.yaml", Typeflag: tar.TypeReg}, tar.Header{Name: "./metadata/annotations.yaml", Typeflag: tar.TypeReg})

	require.NoError(t, run(t.Context(), []string{"tar", "xvzf", archive, "-C", folder}, nil))

	for _, name := range []string{"manifests/csv.yaml", "metadata/annotations.yaml"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
	}
}

func TestTarRefusesWhatItDoesNotUnderstand(t *testing.T) {
	folder := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"other arguments":            {[]string{"czf", "x", "-C", folder}, "xvzf FILE -C FOLDER is understood"},
		"a file that is not there":   {[]string{"xvzf", filepath.Join(folder, "none"), "-C", folder}, "no such file"},
		"a file that is no archive":  {[]string{"xvzf", "untar.go", "-C", folder}, "invalid header"},
		"a folder that is not there": {[]string{"xvzf", packed(t), "-C", filepath.Join(folder, "none")}, "no such file"},
		"a file outside":             {[]string{"xvzf", packed(t, tar.Header{Name: "../out", Typeflag: tar.TypeReg}), "-C", folder}, "path escapes"},
		"a link":                     {[]string{"xvzf", packed(t, tar.Header{Name: "in", Linkname: "/etc", Typeflag: tar.TypeSymlink}), "-C", folder}, "neither a file nor a folder"},
	} {
		t.Run(name, func(t *testing.T) { assert.ErrorContains(t, untar(test.args), test.want) })
	}
}

// packed makes an archive whose files all have the same text.
func packed(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for _, header := range headers {
		header.Mode = 0o644
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len("text"))
		}
		require.NoError(t, writer.WriteHeader(&header))
		if header.Typeflag == tar.TypeReg {
			_, err := writer.Write([]byte("text"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o600))
	return file
}

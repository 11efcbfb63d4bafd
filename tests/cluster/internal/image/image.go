// Package image packs one static program into a container image, without a container engine.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Pack writes an archive, in docker's format, of an image with the given tag. The image holds only the program, as an
// executable in the root directory, and runs it as the user, "UID:GID".
func Pack(archive, tag, program, user string) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("naming the image %s: %w", tag, err)
	}
	layer, err := programLayer(program)
	if err != nil {
		return fmt.Errorf("packing %s: %w", program, err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           "linux",
		Architecture: runtime.GOARCH,
		RootFS:       v1.RootFS{Type: "layers"},
		Config:       v1.Config{Entrypoint: []string{"/" + filepath.Base(program)}, User: user},
	})
	if err != nil {
		return fmt.Errorf("configuring the image %s: %w", tag, err)
	}
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return fmt.Errorf("packing the image %s: %w", tag, err)
	}
	if err := tarball.WriteToFile(archive, reference, image); err != nil {
		return fmt.Errorf("writing the image %s: %w", tag, err)
	}
	return nil
}

// programLayer is a file system with one executable.
func programLayer(program string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{Name: filepath.Base(program), Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	})
}

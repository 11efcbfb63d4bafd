package catalog

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Pull reads the image of a bundle from its registry into a folder, which must
// exist. It is for the versions that were released before.
func Pull(ctx context.Context, reference, folder string) (err error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("read the name %q: %w", reference, err)
	}
	image, err := remote.Image(parsed, remote.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("pull %s: %w", reference, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the folder for %s: %w", reference, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	content := mutate.Extract(image)
	defer func() { err = errors.Join(err, content.Close()) }()
	if err := unpack(tar.NewReader(content), root); err != nil {
		return fmt.Errorf("unpack %s: %w", reference, err)
	}
	return nil
}

// unpack writes the files of an archive. The root keeps them in its folder.
func unpack(archive *tar.Reader, root *os.Root) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(header.Name, text, 0o644); err != nil {
			return err
		}
	}
}

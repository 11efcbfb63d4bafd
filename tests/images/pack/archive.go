package pack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Annotations of the entry of an archive. containerd takes the image's name
// from the first one, other tools the tag from the second.
const (
	nameAnnotation = "io.containerd.image.name"
	tagAnnotation  = "org.opencontainers.image.ref.name"
)

// WriteArchive writes an image for one or more platforms as an OCI image
// layout in a tar file, which `ctr images import` and `kind load image-archive`
// take under two names: the reference, and the same repository by digest. A
// bundle names its images by digest, and a node that reaches no registry finds
// them under that name. Equal images give equal bytes. The file is complete or
// not there.
func WriteArchive(file, reference string, index v1.ImageIndex) (err error) {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("the image name %q cannot be used: %w", reference, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making the folder of the archive: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return fmt.Errorf("making a folder for the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	content := filepath.Join(dir, "content")
	if err := writeLayout(content, tag, index); err != nil {
		return fmt.Errorf("writing the image %s: %w", reference, err)
	}
	archive := filepath.Join(dir, "archive")
	if err := writeTar(archive, content); err != nil {
		return fmt.Errorf("writing the archive of %s: %w", reference, err)
	}
	if err := os.Rename(archive, file); err != nil {
		return fmt.Errorf("moving the archive of %s into place: %w", reference, err)
	}
	return nil
}

func writeLayout(dir string, tag name.Tag, index v1.ImageIndex) error {
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	err = written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		nameAnnotation: tag.Name(),
		tagAnnotation:  tag.TagStr(),
	}))
	if err != nil {
		return err
	}
	return written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		nameAnnotation: tag.Digest(digest.String()).Name(),
	}))
}

// writeTar archives the files of dir in the order of their names. It leaves
// out what differs from one machine or day to the next: times, owners, folders.
func writeTar(file, dir string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	writer := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return addFile(writer, dir, path, entry)
	})
	return errors.Join(err, writer.Close())
}

func addFile(writer *tar.Writer, dir, path string, entry fs.DirEntry) error {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: filepath.ToSlash(relative), Size: info.Size(), Mode: 0o644, ModTime: epoch,
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(writer, in)
	return errors.Join(err, in.Close())
}

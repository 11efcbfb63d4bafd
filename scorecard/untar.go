package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
)

// untar unpacks a bundle. The arguments are those that scorecard gives, xvzf
// FILE -C FOLDER; there are no others.
func untar(args []string) error {
	if len(args) != 4 || args[0] != "xvzf" || args[2] != "-C" {
		return fmt.Errorf("tar: the arguments are %q; xvzf FILE -C FOLDER is understood and nothing else", args)
	}
	file, err := os.Open(args[1])
	if err != nil {
		return fmt.Errorf("tar: %w", err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("tar: %s: %w", args[1], err)
	}
	folder, err := os.OpenRoot(args[3])
	if err != nil {
		return fmt.Errorf("tar: %w", err)
	}
	defer folder.Close()
	if err := extract(tar.NewReader(unzipped), folder); err != nil {
		return fmt.Errorf("tar: %s: %w", args[1], err)
	}
	return nil
}

// extract writes the files of an archive; none can land outside of the folder.
func extract(archive *tar.Reader, folder *os.Root) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains([]byte{tar.TypeReg, tar.TypeDir}, header.Typeflag) {
			return fmt.Errorf("%s is neither a file nor a folder", header.Name)
		}
		name := path.Clean(header.Name)
		if header.Typeflag == tar.TypeDir {
			err = folder.MkdirAll(name, 0o755)
		} else {
			err = write(folder, name, archive)
		}
		if err != nil {
			return err
		}
	}
}

func write(folder *os.Root, name string, content io.Reader) (err error) {
	if err := folder.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := folder.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, content)
	return err
}

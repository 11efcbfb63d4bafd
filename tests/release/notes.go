package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// notes are the words of docs/releases about this version, and the images by
// digest.
func (w writer) notes(_ context.Context, folder string, built images) error {
	words, err := os.ReadFile(filepath.Join(w.root, "docs", "releases", w.release.Version+".md"))
	if err != nil {
		return fmt.Errorf("write docs/releases/%s.md first, a few lines for users: %w", w.release.Version, err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# loom-operator %s\n\n%s\n## Images\n\n| Image | By digest |\n|---|---|\n", w.release.Version, words)
	for _, archive := range built.all() {
		fmt.Fprintf(&text, "| `%s` | `%s` |\n", archive.Reference, pinned(archive))
	}
	fmt.Fprintf(&text, "\nEach is built for %s. `sha256sum --check SHA256SUMS` checks all files; docs/install.md says how to install them.\n", strings.Join(w.release.Platforms, " and "))
	return write(filepath.Join(folder, "RELEASE_NOTES.md"), []byte(text.String()))
}

// checksums writes a file that sha256sum reads, over all others of the folder.
func checksums(folder string) error {
	var text strings.Builder
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), name)
		return err
	})
	if err != nil {
		return fmt.Errorf("sum up the files: %w", err)
	}
	return write(filepath.Join(folder, "SHA256SUMS"), []byte(text.String()))
}

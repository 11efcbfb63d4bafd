// Command release writes everything that a release consists of into a folder:
// the submission for community-operators, the catalog, manifests to apply,
// images as archives, what is in them, notes and checksums. The same source
// gives the same bytes. It publishes nothing.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/images/pack"
)

const usage = `usage: release [flags]

Writes the release that config/bundle/release.yaml describes.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	output := flags.String("o", "", "folder to write, replaced when it is there (default dist in the repository)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := pack.FindRoot(".")
	if err != nil {
		return err
	}
	release, err := bundle.ReadRelease(os.DirFS(root))
	if err != nil {
		return err
	}
	platforms, err := pack.ParsePlatforms(strings.Join(release.Platforms, ","))
	if err != nil {
		return err
	}
	w := writer{root: root, release: release, platforms: platforms}
	return replace(cmp.Or(*output, filepath.Join(root, "dist")), func(folder string) error {
		images, err := w.images(ctx, filepath.Join(folder, "images"))
		if err != nil {
			return err
		}
		if err := agree(release.Images, images); err != nil {
			return err
		}
		return w.write(ctx, folder, images)
	})
}

// replace lets fill write a new folder, and puts it in the place of the former
// one once it is complete.
func replace(folder string, fill func(folder string) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), ".release-")
	if err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	if err := os.Chmod(fresh, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if err := fill(fresh); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the former release: %w", err)
	}
	return os.Rename(fresh, folder)
}

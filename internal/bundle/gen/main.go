// Command gen writes the bundle and bundle.Dockerfile, or records a release.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

const usage = `usage: gen [flags] ROOT

Writes the bundle of the repository at ROOT. With -version it records a release
first, whose images it reads from standard input, as tests/images prints them.

flags:
`

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, images io.Reader, stderr io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	var release bundle.Release
	flags.StringVar(&release.Version, "version", "", "version of the release to record")
	flags.StringVar(&release.Created, "created", "", "when its source was committed, in RFC 3339")
	platforms := flags.String("platforms", "", "platforms of its images, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return errors.New("name the root of the repository")
	}
	if release.Version != "" {
		release.Platforms = strings.Split(*platforms, ",")
		if err := record(flags.Arg(0), release, images); err != nil {
			return fmt.Errorf("record the release: %w", err)
		}
	}
	return generate(flags.Arg(0))
}

func record(root string, release bundle.Release, images io.Reader) error {
	former, err := bundle.ReadRelease(os.DirFS(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := bundle.Record(release, former, images)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, bundle.ReleaseFile), text, 0o644)
}

// generate replaces the whole folder, so that nothing stays in it that is not
// generated any more.
func generate(root string) error {
	files, err := bundle.Files(os.DirFS(root))
	if err != nil {
		return fmt.Errorf("build the bundle: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(root, bundle.Folder)); err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

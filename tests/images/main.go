// Command images builds the images of this project without Docker. It prints
// one line for each: the archive, the image's name and its digest, separated by
// tabs.
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
	"runtime"
	"syscall"

	"github.com/beyond10x/loom-operator/tests/images/pack"
)

const usage = `usage: images [flags] IMAGE...

Builds each IMAGE, operator, agent or scorecard, as an archive NAME.tar.
  ctr --namespace k8s.io images import NAME.tar
  kind load image-archive NAME.tar

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	output := flags.String("o", "", "folder of the archives (default .cache/images in the repository)")
	list := flags.String("platform", "linux/"+runtime.GOARCH, "platforms to build for, separated by commas")
	version := flags.String("version", "dev", "version of the programs and tag of the images")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return errors.New("no image was named")
	}
	platforms, err := pack.ParsePlatforms(*list)
	if err != nil {
		return err
	}
	root, err := pack.FindRoot(".")
	if err != nil {
		return err
	}
	return build(ctx, flags.Args(), stdout, pack.Options{
		Root:      root,
		Output:    cmp.Or(*output, filepath.Join(root, ".cache", "images")),
		Version:   *version,
		Platforms: platforms,
	})
}

func build(ctx context.Context, names []string, stdout io.Writer, options pack.Options) error {
	programs := make([]pack.Program, len(names))
	for i, name := range names {
		program, err := pack.Find(name)
		if err != nil {
			return err
		}
		programs[i] = program
	}
	for _, program := range programs {
		built, err := pack.Build(ctx, program, options)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, "%s\t%s\t%s\n", built.Path, built.Reference, built.Digest); err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
	}
	return nil
}

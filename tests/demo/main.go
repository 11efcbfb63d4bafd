// Command demo shows the operator on a real cluster. `make demo` and
// `make demo-down` run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/beyond10x/loom-operator/tests/deploy"
	"github.com/beyond10x/loom-operator/tests/images/pack"
)

const usage = `usage: demo up|down [flags]

up    starts a cluster, deploys the operator, runs the samples and shows what came of them
down  stops the cluster; of an existing one it removes the namespace of the samples

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
		fmt.Fprintf(os.Stderr, "\nThe demo did not go as promised.\n%v\n", err)
		os.Exit(1)
	}
}

// options are what the command line chooses.
type options struct {
	existing bool
	images   deploy.Images
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command, chosen, err := parse(args, stderr)
	if err != nil {
		return err
	}
	root, err := pack.FindRoot(".")
	if err != nil {
		return err
	}
	d := &demo{story: newStory(stdout), options: chosen, root: root, progress: stderr}
	if command == "down" {
		return d.down(ctx)
	}
	return d.up(ctx)
}

func parse(args []string, stderr io.Writer) (command string, chosen options, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	cluster := flags.String("cluster", "local", "local starts a cluster on this machine; existing uses the one of KUBECONFIG")
	flags.StringVar(&chosen.images.Operator.Reference, "image", "", "image of the operator, for an existing cluster that cannot be given one")
	flags.StringVar(&chosen.images.Agent.Reference, "agent-image", "", "image of the sample agent, likewise")
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return "", options{}, err
	}
	chosen.existing = *cluster == "existing"
	switch {
	case command != "up" && command != "down", flags.NArg() > 0:
		flags.Usage()
		return "", options{}, errors.New("say up or down, then flags")
	case *cluster != "local" && *cluster != "existing":
		return "", options{}, fmt.Errorf("--cluster is %q; it is local or existing", *cluster)
	}
	return command, chosen, nil
}

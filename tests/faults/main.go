// Command faults shows that a run is started at most once and that its end is
// never lost, whatever fails and whenever. It runs the operator's own binary
// against a real API server and real controllers, with a proxy between them
// that makes one request after the other go wrong.
//
// Usage:
//
//	faults sweep [-variant NAME] [-fault TEXT] [-request TEXT] [-parallel N]
//	faults storm [-seed FIRST] [-seeds N] [-parallel N]
//	faults mutants [-mutant TEXT] [-parallel N]
//
// -cluster NAME uses another control plane, such as for a second command at the
// same time.
//
// The exit code is 0 when nothing was violated (for mutants: when something was
// by each), 1 otherwise, and 2 when it could not run. docs/faults.md explains
// what is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// sharedCluster is a control plane for lives alone: a storm restarts it.
const sharedCluster = "faults"

var errViolated = errors.New("something was violated")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case err == nil:
	case errors.Is(err, errViolated):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	parallel := flags.Int("parallel", 6, "lives at once")
	variant := flags.String("variant", "", "the only variant to sweep; empty means all")
	name := flags.String("fault", "", "part of the names of the faults to sweep; empty means all")
	clusterName := flags.String("cluster", sharedCluster, "control plane to use; it is brought up, and restarted by a storm")
	only := flags.String("mutant", "", "part of the names of the mutants; empty means all")
	request := flags.String("request", "", "part of the requests to sweep; empty means all")
	seed := flags.Uint64("seed", 1, "the first seed of the storm")
	seeds := flags.Int("seeds", 200, "how many seeds")
	if len(args) == 0 {
		return errors.New("usage: faults sweep|storm|mutants [flags]")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	silenceClients()
	cluster, err := harness.Up(ctx, *clusterName, 0)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "loom-faults-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cluster.OperatorBinary, err = build(ctx, dir, "loom-operator"); err != nil {
		return err
	}
	s := sweep{cluster: cluster, parallel: *parallel, variants: named(*variant), progress: os.Stderr, picks: func(f fault, r Request) bool {
		return matches(f, *name) && strings.Contains(r.String(), *request)
	}}
	switch args[0] {
	case "sweep":
		return s.show(ctx)
	case "storm":
		return storm{cluster: cluster, parallel: *parallel, first: *seed, seeds: *seeds, progress: os.Stderr}.show(ctx, dir)
	case "mutants":
		return killMutants(ctx, os.Stdout, dir, *only, s)
	default:
		return fmt.Errorf("there is no %q; use sweep, storm or mutants", args[0])
	}
}

// silenceClients keeps the words of our own clients about an API server that
// restarts out of the output.
func silenceClients() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
}

// matches tells whether a fault is meant by part of its name.
func matches(f fault, part string) bool { return strings.Contains(f.name, part) }

// named lists the variants of a name; empty means all.
func named(variant string) []string {
	if variant != "" {
		return []string{variant}
	}
	return slices.Sorted(maps.Keys(variants()))
}

// show sweeps and prints the table.
func (s sweep) show(ctx context.Context) error {
	replays, err := s.run(ctx)
	if err != nil {
		return err
	}
	return showTable(replays)
}

// show lives through the storm and prints the table.
func (s storm) show(ctx context.Context, dir string) error {
	if err := s.build(ctx, dir); err != nil {
		return err
	}
	lives, err := s.run(ctx)
	if err != nil {
		return err
	}
	return showTable(lives)
}

func showTable(replays []replay) error {
	rows := summarize(replays)
	if err := printTable(os.Stdout, rows); err != nil {
		return err
	}
	if total(rows).violations > 0 {
		return errViolated
	}
	return nil
}

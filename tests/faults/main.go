// Command faults shows that a run is started at most once and that its end is
// never lost, whatever fails and whenever. It runs the operator's own binary
// against a real API server and real controllers, with a proxy between them
// that makes one request after the other go wrong.
//
// Usage:
//
//	faults sweep [-variant NAME] [-fault TEXT] [-request TEXT]
//	faults storm [-seed FIRST] [-seeds N]
//	faults mutants [-mutant TEXT]
//	faults node [-seed FIRST] [-seeds N]   on a real node; needs root
//	faults all                             each of them, in this order
//
// Flags of all of them: -parallel N lives at once, -cluster NAME for another
// control plane, such as for a second command at the same time, -keep FILE to
// keep each life there and not to live again what is in it, so that a long run
// may be interrupted, and -write to put the tables into docs/faults.md.
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
)

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
	c := campaign{out: os.Stdout, progress: os.Stderr}
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.IntVar(&c.parallel, "parallel", 16, "lives at once; they wait most of the time")
	flags.StringVar(&c.variant, "variant", "", "the only variant to sweep; empty means all")
	flags.StringVar(&c.fault, "fault", "", "part of the names of the faults to sweep; empty means all")
	flags.StringVar(&c.clusterName, "cluster", sharedCluster, "control plane to use; it is brought up, and restarted by a storm")
	flags.StringVar(&c.mutant, "mutant", "", "part of the names of the mutants; empty means all")
	flags.StringVar(&c.request, "request", "", "part of the requests to sweep; empty means all")
	flags.StringVar(&c.keep, "keep", "", "file that keeps the lives; those in it are not lived again")
	flags.BoolVar(&c.write, "write", false, "put the tables into docs/faults.md")
	flags.Uint64Var(&c.seed, "seed", 1, "the first seed of a storm")
	flags.IntVar(&c.seeds, "seeds", 0, "how many seeds; 0 means 200, and 20 on a node")
	if len(args) == 0 {
		return errors.New("usage: faults sweep|storm|mutants|node|all [flags]")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	silenceClients()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	switch args[0] {
	case "sweep":
		return c.sweep(ctx)
	case "storm":
		return c.storm(ctx)
	case "mutants":
		return c.mutants(ctx)
	case "node":
		return c.node(ctx)
	case "all":
		return c.all(ctx)
	default:
		return fmt.Errorf("there is no %q; use sweep, storm, mutants, node or all", args[0])
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

// Command faults shows that a run is started at most once and that its end is
// never lost, whatever fails and whenever. It runs the operator's own binary
// against a real API server and real controllers, with a proxy between them
// that makes one request after the other go wrong.
//
// Usage:
//
//	faults sweep [-variant NAME] [-fault TEXT] [-parallel N]
//	faults storm [-seed FIRST] [-seeds N] [-parallel N]
//	faults mutants [-parallel N]
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

	"github.com/beyond10x/loom-operator/tests/harness"
)

// clusterName is the control plane that the lives share. It restarts at times.
const clusterName = "faults"

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

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	parallel := flags.Int("parallel", 6, "lives at once")
	variant := flags.String("variant", "", "the only variant to sweep; empty means all")
	name := flags.String("fault", "", "part of the names of the faults to sweep; empty means all")
	if len(args) == 0 {
		return errors.New("usage: faults sweep|storm|mutants [flags]")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	cluster, err := harness.Up(ctx, clusterName, 0)
	if err != nil {
		return err
	}
	switch args[0] {
	case "sweep":
		s := sweep{cluster: cluster, parallel: *parallel, variants: named(*variant), progress: os.Stderr, picks: func(f fault, _ Request) bool {
			return strings.Contains(f.name, *name)
		}}
		return s.show(ctx)
	default:
		return fmt.Errorf("there is no %q; use sweep, storm or mutants", args[0])
	}
}

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
	rows := summarize(replays)
	if err := print(os.Stdout, rows); err != nil {
		return err
	}
	if total(rows).violations > 0 {
		return errViolated
	}
	return nil
}

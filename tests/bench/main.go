// Command bench measures what it costs to be managed by the operator: the
// operator's own binary in a control plane of its own, next to a bare client
// that makes the same objects with the fewest writes, the floor.
//
// Usage:
//
//	bench [-runs VARIANT:AGENTS,...] [-repeat N] [-o FILE] [-write] [flags]
//	bench compare OLD NEW
//
// It prints one table, writes it to a file as JSON and into
// docs/performance.md; compare prints what has changed between two JSON files.
// docs/performance.md explains the figures. A figure that misses its target is
// marked; that is no error, and the exit code is 1 only when something could
// not be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "compare" {
		if len(args) != 3 {
			return errors.New("usage: bench compare OLD NEW")
		}
		return compareFiles(stdout, args[1], args[2])
	}
	chosen, err := parse(args, stderr)
	if err != nil {
		return err
	}
	// The words of our own clients about a control plane that comes and goes
	// are of no interest.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	report, err := measure(ctx, chosen)
	// What was measured before something failed is worth seeing.
	if err := errors.Join(err, report.print(stdout)); err != nil {
		return err
	}
	if chosen.output != "" {
		if err := report.save(chosen.output); err != nil {
			return err
		}
	}
	if chosen.write {
		return report.publish()
	}
	return nil
}

// standardRuns are each variant and all of them together, few and many.
const standardRuns = "serve:500,serve:1000,serve:5000,schedule:500,schedule:1000,schedule:5000," +
	"command:500,command:1000,command:5000,mixed:500,mixed:1000,mixed:5000"

// options are what the command line chooses.
type options struct {
	runs   []batch
	repeat int
	// idle is how long the operator is left alone in the run with the most agents.
	idle time.Duration
	// samples of the latency, and unrelated objects, in the mixed run with the
	// fewest agents.
	samples, others int
	cluster         string
	// profiles is a folder for CPU profiles of each run; empty means none.
	profiles string
	// output is a file for the report as JSON; empty means none.
	output   string
	write    bool
	progress io.Writer
}

func parse(args []string, stderr io.Writer) (chosen options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	runs := flags.String("runs", standardRuns, fmt.Sprintf("what to measure; the variants are %v", variantNames()))
	flags.IntVar(&chosen.repeat, "repeat", 1, fmt.Sprintf("repetitions, each with fresh control planes; the table has medians; more than %d agents are measured once", floorUpTo))
	flags.DurationVar(&chosen.idle, "idle", time.Minute, "how long the operator is watched while nothing happens")
	flags.IntVar(&chosen.samples, "samples", 200, "agents that are created one by one for the latency; 0 leaves it out")
	flags.IntVar(&chosen.others, "others", 10000, "unrelated objects of 10 KiB; 0 leaves them out")
	flags.StringVar(&chosen.cluster, "cluster", "bench", "name of the control plane; one that runs is taken down")
	flags.StringVar(&chosen.profiles, "profiles", "", "folder for CPU profiles of operator and API server")
	flags.StringVar(&chosen.output, "o", "", "file for the report as JSON")
	flags.BoolVar(&chosen.write, "write", false, "write the table into docs/performance.md")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("%q is no flag; use -h", flags.Arg(0))
	}
	if chosen.runs, err = parseRuns(*runs); err != nil {
		return options{}, err
	}
	if chosen.repeat < 1 {
		return options{}, errors.New("-repeat is at least 1")
	}
	chosen.progress = stderr
	return chosen, nil
}

func parseRuns(text string) (runs []batch, err error) {
	for item := range strings.SplitSeq(text, ",") {
		variant, number, _ := strings.Cut(item, ":")
		agents, err := strconv.Atoi(number)
		if err != nil || agents < 1 {
			return nil, fmt.Errorf("-runs has %q, which does not end with a number of agents", item)
		}
		if !slices.Contains(variantNames(), variant) {
			return nil, fmt.Errorf("-runs has %q; the variants are %v", item, variantNames())
		}
		runs = append(runs, batch{variant: variant, agents: agents})
	}
	return runs, nil
}

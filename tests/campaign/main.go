// Command campaign changes live agents, property by property, in the manner of
// Acto (Gu et al., SOSP 2023), and compares each with a fresh agent of the same
// document. It runs the operator's own binary against a real API server and
// real controllers.
//
// Usage:
//
//	campaign [-properties REGEXP] [-seed N] [-values N] [-parallel N] [-cluster NAME] [-write]
//
// For every property of the CRD's schema it generates values: good ones, those
// at a boundary, bad ones, of a wrong type, null and none. A live agent gets
// them in sequences of two and three changes. After each change
//
//   - the verdict in the status is that of internal/check on the document as it
//     is stored, in the same words, or the API server has refused the change by
//     the schema, naming the property, and nothing has happened;
//   - the status and its conditions are of the new generation;
//   - the children are those of a fresh agent of the same document, so that
//     nothing of an earlier document stays, and a bad document and its
//     undoing lead back to the former children;
//   - the operator has written no more than a change can need.
//
// In the end the operator must come to rest, write nothing when it is woken
// without a reason, and never have panicked. It prints a table by property. The
// exit code is 0 when nothing was violated, 1 otherwise, and 2 when it could
// not run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// ownCluster is a control plane for campaigns alone.
const ownCluster = "campaign"

var errViolated = errors.New("something was violated")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := start(ctx, os.Args[1:]); {
	case err == nil:
	case errors.Is(err, errViolated):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func start(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("campaign", flag.ContinueOnError)
	only := flags.String("properties", "", "the properties to try, as a regular expression on paths such as spec.pod.labels; empty means all")
	seed := flags.Uint64("seed", 1, "seed of the values that are paired by chance")
	values := flags.Int("values", 0, "how many values of each property are tried; 0 means all")
	parallel := flags.Int("parallel", 32, "agents at once")
	write := flags.Bool("write", false, "write the table into docs/campaign.md")
	clusterName := flags.String("cluster", ownCluster, "control plane to use; it is brought up")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-properties: %w", err)
	}
	silenceClients()
	schema, err := specSchema()
	if err != nil {
		return err
	}
	cluster, err := harness.Up(ctx, *clusterName, 0)
	if err != nil {
		return err
	}
	trials := plan(schema, scope{only: pattern, seed: *seed, values: *values})
	rows, err := run(ctx, cluster, trials, *parallel, os.Stderr)
	if err != nil {
		return err
	}
	sums := summarize(rows)
	var table bytes.Buffer
	if err := printTable(io.MultiWriter(os.Stdout, &table), sums); err != nil {
		return err
	}
	if *write {
		if err := harness.Publish("campaign.md", "campaign", table.Bytes()); err != nil {
			return err
		}
	}
	if len(sums[len(sums)-1].violations) > 0 {
		return errViolated
	}
	return nil
}

// silenceClients keeps the words of our own clients out of the output.
func silenceClients() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
}

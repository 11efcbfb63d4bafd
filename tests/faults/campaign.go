package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// sharedCluster is a control plane for lives alone: a storm restarts it.
const sharedCluster = "faults"

// How many seeds a storm has where nobody says so.
const (
	manySeeds = 200
	nodeSeeds = 20
)

// campaign is what one command does.
type campaign struct {
	parallel, seeds                 int
	seed                            uint64
	clusterName                     string
	variant, fault, request, mutant string
	keep                            string
	write                           bool
	out, progress                   io.Writer

	dir     string
	binary  string // of the operator
	records *records
}

// prepare builds the operator and opens the records.
func (c *campaign) prepare(ctx context.Context) (err error) {
	if c.dir, err = os.MkdirTemp("", "loom-faults-"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if c.binary, err = build(ctx, c.dir, "loom-operator"); err != nil {
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	c.records, err = openRecords(c.keep, c.binary)
	return err
}

func (c *campaign) close() error { return errors.Join(c.records.close(), os.RemoveAll(c.dir)) }

// all does everything. What was violated does not keep the rest from being
// done.
func (c *campaign) all(ctx context.Context) error {
	var failed []error
	for _, part := range []func(context.Context) error{c.sweep, c.storm, c.mutants, c.node} {
		err := part(ctx)
		if err != nil && !errors.Is(err, errViolated) {
			return err
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (c *campaign) sweep(ctx context.Context) error {
	s, err := c.newSweep(ctx)
	if err != nil {
		return err
	}
	lives, err := s.run(ctx)
	return c.show(lives, err, "sweep", "Made by `go run ./faults sweep -write`.")
}

func (c *campaign) newSweep(ctx context.Context) (sweep, error) {
	cluster, err := c.controlPlane(ctx)
	return sweep{
		cluster: cluster, parallel: c.parallel, variants: named(c.variant), records: c.records, progress: c.progress,
		picks: func(f fault, r Request) bool { return matches(f, c.fault) && strings.Contains(r.String(), c.request) },
	}, err
}

func (c *campaign) storm(ctx context.Context) error {
	cluster, err := c.controlPlane(ctx)
	if err != nil {
		return err
	}
	return c.live(ctx, storm{cluster: cluster, parallel: c.parallel, seeds: from(c.seed, cmp.Or(c.seeds, manySeeds))}, "storm")
}

// node lives through storms on a real node, a few lives at once.
func (c *campaign) node(ctx context.Context) (err error) {
	n, err := newNode(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.ledger.Close()) }()
	cluster := *n.cluster
	cluster.OperatorBinary = c.binary
	return c.live(ctx, storm{cluster: &cluster, node: n, parallel: min(c.parallel, onNode), seeds: from(c.seed, cmp.Or(c.seeds, nodeSeeds))}, "node")
}

func (c *campaign) live(ctx context.Context, s storm, section string) error {
	s.records, s.progress = c.records, c.progress
	if err := s.build(ctx, c.dir); err != nil {
		return err
	}
	lives, err := s.run(ctx)
	return c.show(lives, err, section, fmt.Sprintf("Made by `go run ./faults %s -seed %d -seeds %d -write`.", section, s.seeds[0], len(s.seeds)))
}

func (c *campaign) mutants(ctx context.Context) error {
	s, err := c.newSweep(ctx)
	if err != nil {
		return err
	}
	s.records = &records{} // A mutant is another operator.
	var text bytes.Buffer
	err = killMutants(ctx, &text, c.dir, c.mutant, s)
	if err != nil && !errors.Is(err, errViolated) {
		return err
	}
	return errors.Join(err, c.publish("mutants", "Made by `go run ./faults mutants -write`.", text.Bytes()))
}

func (c *campaign) controlPlane(ctx context.Context) (*harness.Cluster, error) {
	cluster, err := harness.Up(ctx, c.clusterName, 0)
	if err != nil {
		return nil, err
	}
	own := *cluster
	own.OperatorBinary = c.binary
	return &own, nil
}

// show prints the table of lives. A run that was cut short is printed, and not
// published.
func (c *campaign) show(lives []record, err error, section, made string) error {
	var text bytes.Buffer
	if printing := printLives(&text, lives); printing != nil || err != nil {
		_, _ = c.out.Write(text.Bytes()) // There is an error to tell already.
		return errors.Join(err, printing)
	}
	if err := c.publish(section, made, text.Bytes()); err != nil {
		return err
	}
	if total(summarize(lives)).violations > 0 {
		return errViolated
	}
	return nil
}

func (c *campaign) publish(section, made string, table []byte) error {
	text := fmt.Appendf(nil, "%s\n\n%s", made, table)
	if _, err := c.out.Write(text); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if !c.write {
		return nil
	}
	return harness.Publish("faults.md", section, text)
}

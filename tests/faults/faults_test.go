package main

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// full sweeps every variant with every fault; see also the command.
var full = flag.Bool("full", false, "try every fault on every variant, and 200 seeds")

// parallel is how many lives go on at once. They wait most of the time.
const parallel = 10

// telling are the faults that a bounded sweep tries: those after which the
// operator knows least.
var telling = []string{"killed before the effect", "answer lost after the effect", "restarted with the view before this step"}

func cluster(t *testing.T) (*harness.Cluster, string) {
	t.Helper()
	silenceClients()
	cluster, err := harness.Up(t.Context(), sharedCluster, 0)
	require.NoError(t, err)
	copied, dir := *cluster, t.TempDir()
	copied.OperatorBinary, err = build(t.Context(), dir, "loom-operator")
	require.NoError(t, err)
	return &copied, dir
}

func TestSweep(t *testing.T) {
	cluster, _ := cluster(t)
	s := sweep{cluster: cluster, parallel: parallel, variants: named("Command"), progress: t.Output(), picks: func(f fault, _ Request) bool {
		for _, name := range telling {
			if f.name == name {
				return true
			}
		}
		return false
	}}
	if *full {
		s.variants, s.picks = named(""), func(fault, Request) bool { return true }
	}
	lives, err := s.run(t.Context())
	require.NoError(t, err)
	assertNoViolations(t, lives)
}

func TestStorm(t *testing.T) {
	cluster, dir := cluster(t)
	s := storm{cluster: cluster, parallel: parallel, first: 1, seeds: 20, progress: t.Output()}
	if *full {
		s.seeds = 200
	}
	require.NoError(t, s.build(t.Context(), dir))
	lives, err := s.run(t.Context())
	require.NoError(t, err)
	assertNoViolations(t, lives)
}

func assertNoViolations(t *testing.T, lives []replay) {
	t.Helper()
	rows := summarize(lives)
	var table bytes.Buffer
	require.NoError(t, printTable(&table, rows))
	t.Log("\n" + table.String())
	sum := total(rows)
	assert.Zero(t, sum.violations)
	assert.Positive(t, sum.faults)
}

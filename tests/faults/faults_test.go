package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// parallel is how many lives go on at once. They wait most of the time.
const parallel = 16

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
	s := sweep{
		cluster: cluster, parallel: parallel, variants: named("Command"), records: &records{}, progress: t.Output(),
		picks: func(f fault, _ Request) bool { return slices.Contains(telling, f.name) },
	}
	lives, err := s.run(t.Context())
	require.NoError(t, err)
	assertNoViolations(t, lives)
}

func TestStorm(t *testing.T) {
	cluster, dir := cluster(t)
	s := storm{cluster: cluster, parallel: parallel, seeds: from(1, 20), records: &records{}, progress: t.Output()}
	require.NoError(t, s.build(t.Context(), dir))
	lives, err := s.run(t.Context())
	require.NoError(t, err)
	assertNoViolations(t, lives)
}

// A node with the programs of the sample agent, which keep the ledger of starts
// themselves, in the weather that disturbs a node most.
func TestNodeStorm(t *testing.T) {
	silenceClients()
	n, err := newNode(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, n.ledger.Close()) })
	cluster, dir := *n.cluster, t.TempDir()
	cluster.OperatorBinary, err = build(t.Context(), dir, "loom-operator")
	require.NoError(t, err)
	s := storm{cluster: &cluster, node: n, parallel: parallel, seeds: rough(2), records: &records{}, progress: t.Output()}
	for _, seed := range s.seeds {
		t.Log(s.forecast(seed))
	}
	require.NoError(t, s.build(t.Context(), dir))
	lives, err := s.run(t.Context())
	require.NoError(t, err)
	assertNoViolations(t, lives)
}

// rough lists the first seeds of a command whose node is drained in one step
// and whose kubelet is restarted in another, and whose clock is wrong.
func rough(n int) []uint64 {
	var seeds []uint64
	for seed := uint64(1); len(seeds) < n; seed++ {
		w, names := forecast(seed, nodeMishaps()), []string{}
		for _, m := range w.mishaps {
			names = append(names, m.name)
		}
		if w.variant == "Command" && w.clock != "right" && slices.Contains(names, "node drained") && slices.Contains(names, "kubelet restarted") {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

func assertNoViolations(t *testing.T, lives []record) {
	t.Helper()
	require.NoError(t, printLives(t.Output(), lives))
	sum := total(summarize(lives))
	assert.Zero(t, sum.violations)
	assert.Positive(t, sum.faults)
}

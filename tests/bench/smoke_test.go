package main

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figures that are exact on any machine, however busy: what is called for
// each agent, and that nothing is written when there is nothing to do.
func TestCallsPerAgent(t *testing.T) {
	const each = 10
	all := trial{
		options: options{idle: 5 * time.Second, cluster: "bench-smoke", progress: io.Discard},
		batch:   batch{agents: each * len(lives())}, most: true,
	}
	wanted := map[string]map[string]float64{
		"serve":             {"create configmaps": 1, "create services": 1, "create deployments": 1, "update loomagents/status": 1},
		"schedule":          {"create cronjobs": 1, "update loomagents/status": 1},
		"schedule-document": {"create configmaps": 1, "create cronjobs": 1, "update loomagents/status": 1},
		"command":           {"create jobs": 1, "patch jobs": 1, "patch loomagents": 2, "update loomagents/status": 2},
	}
	require.Len(t, wanted, len(lives()))
	rest := newColumn(all.batch)
	require.NoError(t, all.inPlane(t.Context(), func(p *plane) error {
		return p.withOperator(t.Context(), func(o *operator) error {
			for variant, calls := range wanted {
				assert.Equal(t, calls, called(t, p, o, trial{options: all.options, batch: batch{variant, each}}), variant)
			}
			return all.steady(t.Context(), p, o, rest)
		})
	}))
	for _, key := range []string{restartWrites, idleWrites} {
		assert.Equal(t, []float64{0}, rest.Figures[key], key)
	}
}

// called lets the agents of a trial live and returns what was called for each.
func called(t *testing.T, p *plane, o *operator, plan trial) map[string]float64 {
	t.Helper()
	done, err := p.work(t.Context(), plan, o.who(p))
	require.NoError(t, err)
	column := newColumn(plan.batch)
	column.settled(done, plan.theirs())
	calls := map[string]float64{}
	for kind, perAgent := range column.Calls {
		// A division need not be exact.
		calls[kind] = math.Round(1e6*perAgent[0]) / 1e6
	}
	return calls
}

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
	exact := map[string]map[string]float64{
		"serve":             {"create configmaps": 1, "create services": 1, "create deployments": 1, "update loomagents/status": 1},
		"schedule":          {"create cronjobs": 1, "update loomagents/status": 1},
		"schedule-document": {"create configmaps": 1, "create cronjobs": 1, "update loomagents/status": 1},
		"command":           {"create jobs": 1, "patch jobs": 1, "patch loomagents": 2, "update loomagents/status": 2},
	}
	require.Len(t, exact, len(lives()))
	// A busy machine may show the end of a Job before that of its pod.
	atMost := map[string]float64{"command": 1}
	rest := newColumn(all.batch)
	require.NoError(t, all.inPlane(t.Context(), func(p *plane) error {
		return p.withOperator(t.Context(), func(o *operator) error {
			for variant, wanted := range exact {
				written, read := called(t, p, o, trial{options: all.options, batch: batch{variant, each}})
				assert.Equal(t, wanted, written, variant)
				assert.LessOrEqual(t, read, atMost[variant], variant)
			}
			return all.steady(t.Context(), p, o, rest)
		})
	}))
	for _, key := range []string{restartWrites, idleWrites} {
		assert.Equal(t, []float64{0}, rest.Figures[key], key)
	}
}

// called lets the agents of a trial live and returns, for each, the writes by
// kind and how many reads there were.
func called(t *testing.T, p *plane, o *operator, plan trial) (written map[string]float64, read float64) {
	t.Helper()
	done, err := p.work(t.Context(), plan, o.who(p))
	require.NoError(t, err)
	column := newColumn(plan.batch)
	column.settled(done, plan.theirs())
	written = map[string]float64{}
	for kind, perAgent := range column.Calls {
		if call(kind).write() {
			// A division need not be exact.
			written[kind] = math.Round(1e6*perAgent[0]) / 1e6
		}
	}
	return written, column.Figures[reads][0]
}

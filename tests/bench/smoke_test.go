package main

import (
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figures that are exact on any machine, however busy: what is called for
// each agent, and that nothing is written when there is nothing to do. On a busy
// one a pass may work on an old version of an object, which the API server
// refuses.
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
				column := called(t, p, o, trial{options: all.options, batch: batch{variant, each}})
				written, refused := writesOf(column), column.Figures[conflicts][0]/each
				assert.ElementsMatch(t, slices.Collect(maps.Keys(wanted)), slices.Collect(maps.Keys(written)), variant)
				assert.Less(t, refused, 1.0, "%s: conflicts are the exception", variant)
				for kind, n := range wanted {
					assert.GreaterOrEqual(t, written[kind], n-1e-6, "%s %s", variant, kind)
					refused -= written[kind] - n
				}
				assert.InDelta(t, 0, refused, 1e-6, "%s: only what was refused is written again, and that changes nothing: %v", variant, written)
				assert.LessOrEqual(t, column.Figures[reads][0], atMost[variant], variant)
			}
			return all.steady(t.Context(), p, o, rest)
		})
	}))
	for _, key := range []string{restartWrites, idleWrites} {
		assert.Equal(t, []float64{0}, rest.Figures[key], key)
	}
}

// called lets the agents of a trial live and returns what was called.
func called(t *testing.T, p *plane, o *operator, plan trial) *Column {
	t.Helper()
	done, err := p.work(t.Context(), plan, o.who(p))
	require.NoError(t, err)
	column := newColumn(plan.batch)
	column.settled(done, plan.theirs())
	return column
}

// writesOf are the writes for each agent, by kind.
func writesOf(column *Column) map[string]float64 {
	written := map[string]float64{}
	for kind, perAgent := range column.Calls {
		if call(kind).write() {
			written[kind] = perAgent[0]
		}
	}
	return written
}

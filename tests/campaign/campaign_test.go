package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// A part of the campaign that fits into every run of the tests: each property
// that is the operator's own, with few values, on one variant. make campaign
// runs all of it.
func TestNothingIsViolatedByFewValues(t *testing.T) {
	schema, err := specSchema()
	require.NoError(t, err)
	cluster, err := harness.Up(t.Context(), ownCluster, 0)
	require.NoError(t, err)
	trials := plan(schema, scope{seed: 1, values: 3, brief: true})
	silenceClients()

	rows, err := run(t.Context(), cluster, trials, 32, os.Stderr)

	require.NoError(t, err)
	sums := summarize(rows)
	sum := sums[len(sums)-1]
	assert.Empty(t, sum.violations)
	assert.GreaterOrEqual(t, sum.steps, 4*len(trials))
	for _, outcome := range []int{sum.run, sum.refused, sum.schema} {
		assert.Positive(t, outcome)
	}
}

func TestEveryPropertyOfTheSchemaIsPlanned(t *testing.T) {
	schema, err := specSchema()
	require.NoError(t, err)
	planned := map[string]bool{}
	for _, trial := range plan(schema, scope{}) {
		planned[trial.path.String()] = true
		shown := map[string]bool{}
		for _, value := range trial.values {
			shown[text(value)] = true
		}
		assert.True(t, shown["null"] && shown["absent"], "%s is tried without a value", trial.path)
		assert.GreaterOrEqual(t, len(trial.values), 4, "%s has values of every kind", trial.path)
	}
	all := properties(nil, schema)
	assert.Len(t, planned, len(all))
	for _, path := range []string{
		"spec", "spec.agent", "spec.schedule.input.configMapKeyRef.key", "spec.pod.resources.limits{}", "spec.env[].value",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields[].key",
		"spec.serve.probes.startup.grpc.service",
	} {
		assert.True(t, planned[path], path)
	}
}

func TestPlanKeepsToItsScope(t *testing.T) {
	schema, err := specSchema()
	require.NoError(t, err)
	only := func(pattern string, s scope) map[string]int {
		s.only = regexp.MustCompile(pattern)
		tried := map[string]int{}
		for _, trial := range plan(schema, s) {
			tried[trial.path.String()+" on "+trial.variant] = len(trial.values)
		}
		return tried
	}
	assert.Equal(t, []string{"spec.suspend on command", "spec.suspend on schedule", "spec.suspend on serve"}, keys(only(`^spec\.suspend$`, scope{})))
	assert.Equal(t, []string{"spec.run.backoffLimit on command"}, keys(only(`^spec\.run\.backoffLimit$`, scope{}))[:1])
	assert.Empty(t, only(`nodeAffinity`, scope{brief: true}))
	assert.Equal(t, map[string]int{"spec.serve.port on serve": 3}, only(`port$`, scope{brief: true, values: 3}))
	first, again := plan(schema, scope{seed: 7, values: 3}), plan(schema, scope{seed: 7, values: 3})
	assert.Equal(t, first[40].values, again[40].values, "a seed makes the same plan")
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func column(variant string, n int, figures map[string][]float64, calls map[string][]float64) Column {
	return Column{Variant: variant, Agents: n, Figures: figures, Calls: calls}
}

func printed(t *testing.T, r Report) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, r.print(&out))
	return out.String()
}

func TestTableShowsMediansAndMarksWhatMissesItsTarget(t *testing.T) {
	text := printed(t, Report{Date: "2026-01-02", Machine: Machine{Cores: 2, Processor: "P", MemoryGiB: 7.6, Go: "go1", Kubernetes: "v1", Etcd: "v3"}, Columns: []Column{
		column("serve", 1000, map[string][]float64{settleTime: {9, 7, 8}, writes: {3, 9, 3}, settleRatio: {1.3, 1.1, 1.4}}, map[string][]float64{"create services": {1, 1, 1}}),
		column("command", 500, map[string][]float64{writes: {6}, agentMemory: {70}, settleRatio: {9}}, map[string][]float64{"create jobs": {1}}),
	}})

	assert.Equal(t, `2026-01-02: 2 cores P, 8 GiB; Kubernetes v1, etcd v3, go1. Medians of 3.

| figure | target | serve 1000 | command 500 |
| --- | ---: | ---: | ---: |
| all settled, s |  | 8.0 |  |
|   to the floor | ≤ 1.25 with 1000 | 1.30 **missed** | 9.00 |
|   per agent beyond the fewest, KiB | ≤ 25 without pods |  | 70.0 |
| writes per agent | ≤ 3, command ≤ 6 | 3.00 met | 6.00 met |
|   create jobs |  |  | 1.00 |
|   create services |  | 1.00 |  |
`, text)
}

func TestTargetsOfTheVariants(t *testing.T) {
	of := map[string]figure{}
	for _, f := range figures() {
		assert.NotContains(t, of, f.key, "twice")
		of[f.key] = f
	}
	for name, c := range map[string]struct {
		key     string
		batch   batch
		value   float64
		verdict string
	}{
		"writes of a serving agent":              {writes, batch{"serve", 500}, 4, " **missed**"},
		"as many writes as a command may":        {writes, batch{"command", 500}, 6, " met"},
		"a division that is not quite exact":     {writes, batch{mixed, 500}, 3.75 + 1e-12, " met"},
		"a read past the cache":                  {reads, batch{"schedule", 500}, 0.01, " **missed**"},
		"a write after a restart":                {restartWrites, batch{"serve", 500}, 1, " **missed**"},
		"a figure without a target":              {settleTime, batch{"serve", 500}, 1e9, ""},
		"a target that others have":              {agentMemory, batch{mixed, 500}, 1e9, ""},
		"the number of agents of the target":     {apiRatio, batch{"serve", 1000}, 1.16, " **missed**"},
		"another number of agents":               {apiRatio, batch{"serve", 500}, 1.16, ""},
		"growth to the most agents":              {growthCPU, batch{"serve", 5000}, 1.11, " **missed**"},
		"growth that is not the one of a target": {growthCPU, batch{"serve", 1000}, 1.11, ""},
	} {
		assert.Equal(t, c.verdict, of[c.key].verdict(c.batch, c.value), name)
	}
}

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
		ok     bool
	}{
		"none":            {nil, 0, false},
		"one":             {[]float64{4}, 4, true},
		"the middle one":  {[]float64{9, 1, 4}, 4, true},
		"between the two": {[]float64{9, 1, 4, 6}, 5, true},
	} {
		value, ok := median(c.values)
		assert.Equal(t, c.want, value, name)
		assert.Equal(t, c.ok, ok, name)
	}
}

func TestPercentile(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64(200-i))
	}
	assert.Equal(t, 100., percentile(values, 50))
	assert.Equal(t, 198., percentile(values, 99))
	assert.Equal(t, 3., percentile([]float64{3}, 99))
	assert.Zero(t, percentile(nil, 99))
}

func TestGrowthIsToldFromTheFewestAgents(t *testing.T) {
	r := Report{Columns: []Column{
		column("serve", 1524, map[string][]float64{perAgentCPU: {5}, idleMemory: {80}}, nil),
		column("serve", 500, map[string][]float64{perAgentCPU: {4}, idleMemory: {60}}, nil),
		column("command", 500, map[string][]float64{perAgentCPU: {9}}, nil),
	}}
	r.grow()
	assert.Equal(t, []float64{1.25}, r.Columns[0].Figures[growthCPU])
	assert.Equal(t, []float64{20}, r.Columns[0].Figures[agentMemory])
	assert.NotContains(t, r.Columns[1].Figures, growthCPU)
	assert.NotContains(t, r.Columns[2].Figures, growthCPU)
}

func TestCompareShowsTheChange(t *testing.T) {
	old := Report{Machine: Machine{Cores: 2}, Columns: []Column{
		column("serve", 500, map[string][]float64{writes: {4}, settleTime: {10}}, map[string][]float64{"create events": {2}}),
		column("gone", 500, map[string][]float64{writes: {4}}, nil),
	}}
	now := Report{Machine: Machine{Cores: 2}, Columns: []Column{
		column("serve", 500, map[string][]float64{writes: {3}, settleTime: {10.001}}, map[string][]float64{"create services": {1}}),
		column("new", 500, map[string][]float64{writes: {4}}, nil),
	}}
	folder := t.TempDir()
	oldPath, newPath := filepath.Join(folder, "old.json"), filepath.Join(folder, "new.json")
	require.NoError(t, old.save(oldPath))
	require.NoError(t, now.save(newPath))

	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"compare", oldPath, newPath}, &out, &out))

	assert.Equal(t, `| figure | run | old | new | change |
| --- | ---: | ---: | ---: | ---: |
| all settled, s | serve 500 | 10.0 | 10.0 |  |
| writes per agent | serve 500 | 4.00 | 3.00 | -25.0 % |
|   create events | serve 500 | 2.00 |  |  |
|   create services | serve 500 |  | 1.00 |  |
`, out.String())
}

func TestCompareRefusesWhatCannotBeCompared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, Report{}.save(path))
	for name, args := range map[string][]string{
		"one report":         {"compare", path},
		"no report":          {"compare", path, path + "x"},
		"nothing in common":  {"compare", path, path},
		"what is no JSON":    {"compare", path, "table_test.go"},
		"a report on others": {"compare", "table_test.go", path},
	} {
		var out strings.Builder
		assert.Error(t, run(t.Context(), args, &out, &out), name)
	}
}

func TestCommandLine(t *testing.T) {
	chosen, err := parse([]string{"-runs", "mixed:500,serve:50,mixed:100,mixed:5000", "-o", "f", "-write"}, &strings.Builder{})
	require.NoError(t, err)
	assert.Equal(t, []batch{{mixed, 500}, {"serve", 50}, {mixed, 100}, {mixed, 5000}}, chosen.runs)
	assert.Equal(t, "f", chosen.output)
	assert.True(t, chosen.write)
	assert.Equal(t, 5000, chosen.most())
	assert.Equal(t, batch{mixed, 100}, chosen.fewestMixed())

	chosen, err = parse([]string{"-runs", "serve:50,mixed:5000"}, &strings.Builder{})
	require.NoError(t, err)
	assert.Empty(t, chosen.fewestMixed(), "without a floor there is nothing to compare a latency with")

	for name, args := range map[string][]string{
		"no number":          {"-runs", "serve:many"},
		"no agents":          {"-runs", "serve:0"},
		"only a variant":     {"-runs", "serve"},
		"an unknown variant": {"-runs", "serve:5,other:5"},
		"no repetition":      {"-repeat", "0"},
		"an unknown flag":    {"-x"},
		"an argument":        {"serve"},
	} {
		_, err := parse(args, &strings.Builder{})
		assert.Error(t, err, name)
	}
}

func TestTheStandardRunsAreEveryVariantFewAndMany(t *testing.T) {
	runs, err := parseRuns(standardRuns)
	require.NoError(t, err)
	var wanted []batch
	for _, variant := range []string{"serve", "schedule", "command", mixed} {
		for _, agents := range []int{500, 1000, 5000} {
			wanted = append(wanted, batch{variant, agents})
		}
	}
	assert.Equal(t, wanted, runs)
}

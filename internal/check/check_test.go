package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

const defaultImage = "registry.test/agent:1"

// verdict is one row of a table: a spec laid over a good one, and what the
// check must find in it.
type verdict struct {
	spec string   // YAML; null takes a block of the good spec away
	want []string // "FIELD RULE" of each finding, in order
	says string   // a part of the message
}

func assertVerdicts(t *testing.T, table map[string]verdict) {
	t.Helper()
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			report := check.Run(check.Input{Agent: agentWith(t, row.spec), DefaultImage: defaultImage})
			assert.Equal(t, row.want, findings(report), report.Message())
			assert.Contains(t, report.Message(), row.says)
			assertWellFormed(t, report)
		})
	}
}

// agentWith returns the base object S of the cases with a spec laid over it.
func agentWith(t *testing.T, spec string) *v1alpha1.LoomAgent {
	t.Helper()
	agent := &v1alpha1.LoomAgent{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "t"},
		Spec: v1alpha1.LoomAgentSpec{
			Agent: v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"default","instructions":"Say hello."}`),
			Image: &v1alpha1.ImageRef{Repository: "registry.test/agent", Tag: "1"},
		},
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &agent.Spec))
	return agent
}

func findings(report check.Report) []string {
	var all []string
	for _, found := range report.Findings {
		all = append(all, found.Field+" "+found.Rule)
	}
	return all
}

func TestWhatRuns(t *testing.T) {
	assertVerdicts(t, map[string]verdict{
		"a document with an image is enough":                       {},
		"a command alone is enough":                                {spec: "{agent: null, command: {args: [run]}}"},
		"A05 an empty command runs the image's own program":        {spec: "{agent: null, command: {}}"},
		"a document and a command may both be given":               {spec: "{command: {entrypoint: [/bin/sh], args: ['']}}"},
		"A05 neither document nor command is nothing to run":       {spec: "{agent: null}", want: []string{"spec AgentOrCommand"}, says: "spec.agent, spec.command or both"},
		"a schedule does not say what to run":                      {spec: "{agent: null, schedule: {cron: '@daily'}}", want: []string{"spec AgentOrCommand"}},
		"an entrypoint needs a program":                            {spec: "{command: {entrypoint: ['', x]}}", want: []string{"spec.command.entrypoint[0] Entrypoint"}, says: "Name one"},
		"later parts of an entrypoint may be empty":                {spec: "{command: {entrypoint: [x, '']}}"},
		"A05 an empty boundary reaches nothing and is good":        {spec: "{boundary: {}}"},
		"A05 a schedule without input is good":                     {spec: "{schedule: {cron: '0 9 * * *'}}"},
		"A05 an empty input is good":                               {spec: "{schedule: {cron: '0 9 * * *', input: {}}}"},
		"A05 an empty schedule has no expression":                  {spec: "{schedule: {}}", want: []string{"spec.schedule.cron CronSyntax"}, says: "The expression is empty"},
		"A05 explicit nulls are absent blocks":                     {spec: "{boundary: null, schedule: null, command: null, pod: null, serve: null, run: null, env: null}"},
		"A05 a model upstream needs a URL and an audience":         {spec: "{boundary: {model: {}}}", want: []string{"spec.boundary.model.upstream BoundaryUpstream", "spec.boundary.model.audience BoundaryAudience"}},
		"findings come in the order of the rules, not of the YAML": {spec: "{schedule: {cron: x}, image: {tag: ''}}", want: []string{"spec.image.tag Image", "spec.schedule.cron CronSyntax"}},
	})
}

func TestAMissingDocumentIsRefused(t *testing.T) {
	report := check.Run(check.Input{DefaultImage: defaultImage})

	assert.Equal(t, []string{"LoomAgent Document"}, findings(report))
	assert.EqualValues(t, 1, report.ExitCode())
	assertWellFormed(t, report)
}

func TestNamesOfAgents(t *testing.T) {
	refused := []string{"metadata.name AgentName"}
	for name, row := range map[string]struct {
		meta metav1.ObjectMeta
		want []string
	}{
		"A11 a name of 53 characters is shortened, not refused":  {meta: metav1.ObjectMeta{Name: strings.Repeat("n", 53)}},
		"A11 a name of 63 characters is shortened, not refused":  {meta: metav1.ObjectMeta{Name: strings.Repeat("n", 63)}},
		"A11 a name of 100 characters is shortened, not refused": {meta: metav1.ObjectMeta{Name: strings.Repeat("n", 100)}},
		"A11 a name of 253 characters is shortened, not refused": {meta: metav1.ObjectMeta{Name: strings.Repeat("n", 253)}},
		"A11 a name of 254 characters is no name of an object":   {meta: metav1.ObjectMeta{Name: strings.Repeat("n", 254)}, want: refused},
		"a name with dots and leading digits is good":            {meta: metav1.ObjectMeta{Name: "1.agent.x"}},
		"a name is needed":                       {want: refused},
		"a name in capitals is refused":          {meta: metav1.ObjectMeta{Name: "Agent"}, want: refused},
		"a name may be left to the API server":   {meta: metav1.ObjectMeta{GenerateName: "agent-"}},
		"a name counts also beside generateName": {meta: metav1.ObjectMeta{Name: "A", GenerateName: "agent-"}, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			agent := agentWith(t, "{}")
			agent.ObjectMeta = row.meta
			report := check.Run(check.Input{Agent: agent})
			assert.Equal(t, row.want, findings(report))
			assertWellFormed(t, report)
		})
	}
}

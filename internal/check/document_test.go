package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

func TestAgentDocument(t *testing.T) {
	const good = `"schema":"loom.agent/1","model":"default","instructions":"Go."`
	for name, row := range map[string]struct {
		document string
		want     []string
		says     string
	}{
		"the three keys are enough":             {document: "{" + good + "}"},
		"other keys belong to the runtime":      {document: "{" + good + `,"n":9007199254740993,"f":1e999,"x":[{"schema":1}]}`},
		"no document at all in the block":       {document: "", want: []string{"spec.agent AgentDocument"}},
		"an empty object lacks the keys":        {document: "{}", want: []string{"spec.agent.schema AgentDocument", "spec.agent.model AgentDocument", "spec.agent.instructions AgentDocument"}, says: "spec.agent.schema: The key is missing. Set it to loom.agent/1."},
		"null is no object":                     {document: "null", want: []string{"spec.agent AgentDocument"}},
		"a list is no object":                   {document: "[]", want: []string{"spec.agent AgentDocument"}},
		"a text is no object":                   {document: `"x"`, want: []string{"spec.agent AgentDocument"}, says: "not a JSON object"},
		"half a document is no object":          {document: "{" + good, want: []string{"spec.agent AgentDocument"}},
		"two documents are no object":           {document: "{" + good + "}{}", want: []string{"spec.agent AgentDocument"}},
		"another schema is not known":           {document: `{"schema":"loom.agent/2","model":"m","instructions":"i"}`, want: []string{"spec.agent.schema AgentDocument"}, says: `"loom.agent/2" is not known. Set it to loom.agent/1.`},
		"a schema that is no text":              {document: `{"schema":1,"model":"m","instructions":"i"}`, want: []string{"spec.agent.schema AgentDocument"}, says: "not a string"},
		"a model that is null":                  {document: `{"schema":"loom.agent/1","model":null,"instructions":"i"}`, want: []string{"spec.agent.model AgentDocument"}, says: "spec.agent.model: The value is not a string. Set it to the name of a model route."},
		"a model that is an object":             {document: `{"schema":"loom.agent/1","model":{},"instructions":"i"}`, want: []string{"spec.agent.model AgentDocument"}},
		"a model of blanks":                     {document: `{"schema":"loom.agent/1","model":" ","instructions":"i"}`, want: []string{"spec.agent.model AgentDocument"}, says: "The value is empty"},
		"instructions that are a list":          {document: `{"schema":"loom.agent/1","model":"m","instructions":["i"]}`, want: []string{"spec.agent.instructions AgentDocument"}},
		"instructions that are empty":           {document: `{"schema":"loom.agent/1","model":"m","instructions":""}`, want: []string{"spec.agent.instructions AgentDocument"}, says: "what the agent is to do"},
		"keys are not the same in capitals":     {document: `{"Schema":"loom.agent/1","model":"m","instructions":"i"}`, want: []string{"spec.agent.schema AgentDocument"}},
		"of a key that is there twice the last": {document: `{"schema":1,` + good + `}`},
		"a deep document is good":               {document: "{" + good + `,"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"},
		"a bottomless document is no object":    {document: "{" + good + `,"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", want: []string{"spec.agent AgentDocument"}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := agentWith(t, "{}")
			agent.Spec.Agent = v1alpha1.NewAgentDocument(row.document)
			report := check.Run(check.Input{Agent: agent})
			assert.Equal(t, row.want, findings(report))
			assert.Contains(t, report.Message(), row.says)
			assertWellFormed(t, report)
		})
	}
}

func TestModelRoute(t *testing.T) {
	refused := []string{"spec.agent.model ModelRoute"}
	assertVerdicts(t, map[string]verdict{
		"the model is one of the routes":              {spec: "{routes: {default: {}, other: null}}"},
		"the model is none of the routes":             {spec: "{routes: {small: {}, large: {}}}", want: refused, says: `"default" is not a route of spec.routes, which has "large, small"`},
		"routes may be left to the runtime":           {spec: "{routes: null}"},
		"no routes are the runtime's business":        {spec: "{routes: {}}"},
		"routes in a list are the runtime's business": {spec: "{routes: [small]}"},
		"routes of a command without a document":      {spec: "{agent: null, command: {}, routes: {small: {}}}"},
		"a model that is missing is reported once":    {spec: "{agent: {schema: loom.agent/1, instructions: i}, routes: {small: {}}}", want: []string{"spec.agent.model AgentDocument"}},
	})
	t.Run("routes that are no JSON never panic", func(t *testing.T) {
		agent := agentWith(t, "{}")
		agent.Spec.Routes = &apiextensionsv1.JSON{Raw: []byte("{")}
		assert.Empty(t, findings(check.Run(check.Input{Agent: agent})))
	})
}

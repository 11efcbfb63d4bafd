package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestRunPrintsWhatItWasGiven(t *testing.T) {
	input := "ein Wunsch: $(X) $$ ☂\n"
	dir := mounted(t, v1alpha1.LoomAgentSpec{
		Agent: v1alpha1.NewAgentDocument(
			`{"schema":"loom.agent/1","model":"fast","instructions":"Größe","seed":9007199254740993}`),
		Routes:      &apiextensionsv1.JSON{Raw: []byte(`{"fast":{"url":"http://model"}}`)},
		Schedule:    &v1alpha1.ScheduleSpec{Input: &v1alpha1.ScheduleInput{Text: &input}},
		ConfigFiles: []v1alpha1.ConfigFile{{Name: "empty"}},
	})
	got := runAgent(t, []string{
		"LOOM_CONFIG_DIR=" + dir, "LOOM_AGENT_NAME=reader", "LOOM_AGENT_NAMESPACE=team-a", "LOOM_MODE=run",
	}, "run", "--message", "all $$ of it")

	require.Zero(t, got.code, got.stderr)
	facts := func(bytes float64, sha256 string) map[string]any {
		return map[string]any{"bytes": bytes, "sha256": sha256}
	}
	// The sums are those of sha256sum for the same bytes.
	inputFacts := facts(24, "02c9607432d9eee3f2441955d3af7d0e2db4b6c492b241b784d6ae0ce977bed6")
	assert.Equal(t, map[string]any{
		"name": "reader", "namespace": "team-a", "mode": "run", "version": "dev",
		"schema": "loom.agent/1", "model": "fast", "instructionsBytes": 7.0,
		"files": map[string]any{
			"agent.json":  facts(89, "0059bf0f732fd384bed723582dfde394cdf9add8acb863818419850ad345d035"),
			"routes.json": facts(31, "ef4e3e62ded0779a2985b5fe9dd2d85bd42dd31a9f319d1dd704559302813be8"),
			"input":       inputFacts,
			"files/empty": facts(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
		},
		"input":    inputFacts,
		"exitCode": 0.0, "sleep": "0s", "message": "all $$ of it",
	}, decode(t, []byte(got.stdout)))
}

func TestRunEndsAsItWasTold(t *testing.T) {
	cases := map[string]struct {
		document string
		args     []string
		want     int
	}{
		"nothing told ends with 0":              {document: `{"model":"fast"}`, want: 0},
		"the document tells":                    {document: `{"sample":{"exitCode":7}}`, want: 7},
		"the flag tells":                        {document: `{}`, args: []string{"--exit-code", "255"}, want: 255},
		"the flag wins over the document":       {document: `{"sample":{"exitCode":7}}`, args: []string{"--exit-code", "3"}, want: 3},
		"a flag of 0 wins over the document":    {document: `{"sample":{"exitCode":7}}`, args: []string{"--exit-code=0"}, want: 0},
		"another flag leaves the code alone":    {document: `{"sample":{"exitCode":7}}`, args: []string{"--message", "x"}, want: 7},
		"the runtime's other keys mean nothing": {document: `{"exitCode":7,"tools":[1]}`, want: 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + withDocument(t, c.document)}, append([]string{"run"}, c.args...)...)
			assert.Equal(t, c.want, got.code, got.stderr)
			assert.NotEmpty(t, got.stdout)
		})
	}
}

func TestRunNeedsNoConfiguration(t *testing.T) {
	got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + t.TempDir() + "/none"}, "run", "--exit-code", "4")
	assert.Equal(t, 4, got.code, got.stderr)
}

func TestConfigurationThatCannotBeUsedEndsWith78(t *testing.T) {
	cases := map[string]struct{ file, content, message string }{
		"a document that is not JSON":    {"agent.json", `{`, "agent.json is not a loom.agent/1 document"},
		"a document that is no object":   {"agent.json", `[]`, "agent.json is not a loom.agent/1 document"},
		"a model that is no text":        {"agent.json", `{"model":1}`, "agent.json is not a loom.agent/1 document"},
		"routes that are not JSON":       {"routes.json", `fast: slow`, "are not JSON"},
		"a misspelled key of the sample": {"agent.json", `{"sample":{"exitcod":7}}`, "exitcod"},
		"an exit code over 255":          {"agent.json", `{"sample":{"exitCode":256}}`, "not between 0 and 255"},
		"a negative time to sleep":       {"agent.json", `{"sample":{"sleep":"-1s"}}`, "negative"},
		"a time to sleep without a unit": {"agent.json", `{"sample":{"sleep":"2"}}`, "missing unit"},
		"a document that is a folder":    {"agent.json/x", ``, "reading the document"},
		"routes that are a folder":       {"routes.json/x", ``, "reading the routes"},
	}
	for name, c := range cases {
		for _, command := range []string{"run", "serve"} {
			t.Run(name+", "+command, func(t *testing.T) {
				dir := t.TempDir()
				write(t, dir+"/"+c.file, c.content)
				got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + dir}, command)
				assert.Equal(t, exitConfig, got.code)
				assert.Empty(t, got.stdout)
				assert.Contains(t, got.stderr, c.message)
			})
		}
	}
}

func TestRunSleepsAsItWasTold(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		args     []string
	}{
		"by the document": {document: `{"sample":{"sleep":"200ms"}}`, args: []string{"run"}},
		"by the flag":     {document: `{"sample":{"sleep":"1h"}}`, args: []string{"run", "--sleep", "200ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := runAgent(t, []string{"LOOM_CONFIG_DIR=" + withDocument(t, c.document)}, c.args...)
			assert.Zero(t, got.code, got.stderr)
			assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
		})
	}
}

func TestRunThatIsAskedToStopEndsWith143WithinASecond(t *testing.T) {
	cmd := agentCommand(t, []string{"LOOM_CONFIG_DIR=" + t.TempDir()}, "run", "--sleep", "1h", "--exit-code", "7")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	assert.Equal(t, "1h0m0s", firstLine(t, stdout)["sleep"], "the plan is printed before the work")

	asked := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 143, exitCode(t, cmd))
	assert.Less(t, time.Since(asked), time.Second)
}

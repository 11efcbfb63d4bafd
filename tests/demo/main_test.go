package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args     []string
		command  string
		existing bool
		image    string
		wrong    string
	}{
		"up":                  {args: []string{"up"}, command: "up"},
		"down":                {args: []string{"down", "--cluster", "local"}, command: "down"},
		"an existing cluster": {args: []string{"up", "--cluster", "existing", "--image", "r/o:1"}, command: "up", existing: true, image: "r/o:1"},
		"nothing":             {wrong: "say up or down, then flags"},
		"another word":        {args: []string{"sideways"}, wrong: "say up or down, then flags"},
		"a word too many":     {args: []string{"up", "down"}, wrong: "say up or down, then flags"},
		"an unknown cluster":  {args: []string{"up", "--cluster", "kind"}, wrong: `--cluster is "kind"; it is local or existing`},
		"an unknown flag":     {args: []string{"up", "--fast"}, wrong: "flag provided but not defined: -fast"},
	} {
		t.Run(name, func(t *testing.T) {
			command, chosen, err := parse(c.args, io.Discard)
			if c.wrong != "" {
				assert.EqualError(t, err, c.wrong)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, c.command, command)
			assert.Equal(t, c.existing, chosen.existing)
			assert.Equal(t, c.image, chosen.images.Operator.Reference)
		})
	}
}

func TestCommandsAreShownAsAShellTakesThem(t *testing.T) {
	assert.Equal(t, "wait x '--for=jsonpath={.status.state}=Running'", quoted([]string{"wait", "x", "--for=jsonpath={.status.state}=Running"}))
}

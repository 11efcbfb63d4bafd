package check_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	assertVerdicts(t, map[string]verdict{
		"names that Kubernetes has always taken":    {spec: "{env: [{name: A_b-c.d1, value: x}, {name: HOME, value: /w}, {name: _, value: ''}]}"},
		"A13 dollar signs are Kubernetes' business": {spec: "{env: [{name: A, value: 'a$$b $(HOME)'}], command: {args: [-c, 'echo $$ $(PATH)']}}"},
		"an empty name":                                           {spec: "{env: [{name: '', value: x}]}", want: []string{"spec.env[0].name EnvName"}, says: `"" is not a valid name`},
		"a name that begins with a digit":                         {spec: "{env: [{name: A, value: x}, {name: 1A, value: x}]}", want: []string{"spec.env[1].name EnvName"}},
		"a name with an equals sign":                              {spec: "{env: [{name: A=B, value: x}]}", want: []string{"spec.env[0].name EnvName"}},
		"a name with a blank":                                     {spec: "{env: [{name: A B, value: x}]}", want: []string{"spec.env[0].name EnvName"}},
		"A12 a name that the operator sets is refused":            {spec: "{env: [{name: LOOM_MODE, value: x}]}", want: []string{"spec.env[0].name EnvReserved"}, says: "reserved for the operator"},
		"A12 the whole prefix is reserved":                        {spec: "{env: [{name: LOOM_, value: x}]}", want: []string{"spec.env[0].name EnvReserved"}},
		"A12 names that only look like it are free":               {spec: "{env: [{name: LOOM, value: x}, {name: loom_a, value: x}, {name: MY_LOOM_, value: x}]}"},
		"A12 a name that is given twice, with other values":       {spec: "{env: [{name: A, value: x}, {name: B, value: x}, {name: A, value: y}]}", want: []string{"spec.env[2].name EnvUnique"}, says: `"A" is already set by spec.env[0]`},
		"A12 each repetition is reported and names the first":     {spec: "{env: [{name: A, value: x}, {name: A, value: y}, {name: A, value: z}]}", want: []string{"spec.env[1].name EnvUnique", "spec.env[2].name EnvUnique"}, says: "spec.env[2].name: \"A\" is already set by spec.env[0]"},
		"a zero byte in a value":                                  {spec: `{env: [{name: A, value: "x\0"}]}`, want: []string{"spec.env[0] NulByte"}, says: "zero byte"},
		"a zero byte in the entrypoint and in the arguments":      {spec: `{command: {entrypoint: [a, "\0"], args: ["b\0"]}}`, want: []string{"spec.command.entrypoint[1] NulByte", "spec.command.args[0] NulByte"}},
		"other control characters and any letters are the user's": {spec: `{env: [{name: A, value: "\n\t\x01é"}]}`},
	})
}

func TestSizesOfArguments(t *testing.T) {
	const limit = 131071
	text := func(bytes int) string { return strings.Repeat("x", bytes) }
	args := func(count, bytes int) string {
		return strings.TrimSuffix(strings.Repeat(text(bytes)+",", count), ",")
	}
	assertVerdicts(t, map[string]verdict{
		"A42 the longest argument that Linux takes": {spec: fmt.Sprintf("{command: {args: [%s]}}", text(limit))},
		"A42 an argument one byte longer":           {spec: fmt.Sprintf("{command: {args: [%s]}}", text(limit+1)), want: []string{"spec.command.args[0] ArgumentSize"}, says: "131072 bytes and Linux starts no program with more than 131071"},
		"A42 an entrypoint one byte longer":         {spec: fmt.Sprintf("{command: {entrypoint: [%s]}}", text(limit+1)), want: []string{"spec.command.entrypoint[0] ArgumentSize"}},
		"A42 the longest variable, with its name":   {spec: fmt.Sprintf("{env: [{name: A, value: %s}]}", text(limit-2))},
		"A42 a variable one byte longer":            {spec: fmt.Sprintf("{env: [{name: A, value: %s}]}", text(limit-1)), want: []string{"spec.env[0] ArgumentSize"}, says: "spec.configFiles"},
		"A42 an input of 140 KiB is a file":         {spec: fmt.Sprintf("{schedule: {cron: '@daily', input: {text: %s}}}", text(140<<10))},
		"the largest total":                         {spec: fmt.Sprintf("{command: {args: [%s]}}", args(16, 65536))},
		"a total one byte larger":                   {spec: fmt.Sprintf("{command: {args: [%s, x]}}", args(16, 65536)), want: []string{"spec ArgumentTotal"}, says: "1048577 bytes in total and at most 1048576"},
		"environment and entrypoint count into it":  {spec: fmt.Sprintf("{env: [{name: A, value: %[1]s}], command: {entrypoint: [%[1]s], args: [%[2]s]}}", text(65536), args(14, 65536)), want: []string{"spec ArgumentTotal"}, says: "1048578"},
		"all three together at the largest total":   {spec: fmt.Sprintf("{env: [{name: A, value: %[1]s}], command: {entrypoint: [%[2]s], args: [%[3]s]}}", text(65534), text(65536), args(14, 65536))},
	})
}

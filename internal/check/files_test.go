package check_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestConfigFiles(t *testing.T) {
	name := func(name string) string {
		return fmt.Sprintf("{configFiles: [{name: ok, content: ''}, {name: '%s', content: x}]}", name)
	}
	refused := []string{"spec.configFiles[1].name ConfigFileName"}
	assertVerdicts(t, map[string]verdict{
		"a plain name":                         {spec: name("a-B_c.1")},
		"a hidden file":                        {spec: name(".x")},
		"A49 a name with a folder":             {spec: name("conf.d/a.yaml"), want: refused, says: `"conf.d/a.yaml" is not a valid file name`},
		"A49 the folder itself":                {spec: name("."), want: refused},
		"A49 the folder above":                 {spec: name(".."), want: refused},
		"A49 a name that begins with two dots": {spec: name("..x"), want: refused},
		"A49 a name with a blank":              {spec: name("a b"), want: refused},
		"A49 an empty name":                    {spec: name(""), want: refused, says: "The name is empty"},
		"A49 a name of 254 characters":         {spec: name(strings.Repeat("a", 254)), want: refused, says: "254 characters and at most 240"},
		"A49 a name of 241 characters":         {spec: name(strings.Repeat("a", 241)), want: refused},
		"A49 a name of 240 characters":         {spec: name(strings.Repeat("a", 240))},
		"A49 the same name twice":              {spec: name("ok"), want: []string{"spec.configFiles[1].name ConfigFileUnique"}, says: `"ok" is already the name of spec.configFiles[0]`},
		"the same name three times":            {spec: "{configFiles: [{name: a, content: ''}, {name: a, content: ''}, {name: a, content: ''}]}", want: []string{"spec.configFiles[1].name ConfigFileUnique", "spec.configFiles[2].name ConfigFileUnique"}, says: "configFiles[2].name: \"a\" is already the name of spec.configFiles[0]"},
	})
}

func TestSizeOfTheConfig(t *testing.T) {
	const limit = 1044480 // 1 MiB less 4 KiB
	text := func(bytes int) string { return strings.Repeat("x", bytes) }
	const command = "agent: null, command: {}"
	assertVerdicts(t, map[string]verdict{
		"A60 two files of 600 KiB":           {spec: fmt.Sprintf("{%s, configFiles: [{name: a, content: %[2]s}, {name: b, content: %[2]s}]}", command, text(600<<10)), want: []string{"spec.configFiles[0].content ConfigSize"}, says: "1228800 bytes in total and at most 1044480 fit"},
		"A60 the largest part is named":      {spec: fmt.Sprintf("{%s, connectorsConfig: %s, configFiles: [{name: a, content: %s}]}", command, text(limit/2), text(limit/2+1)), want: []string{"spec.configFiles[0].content ConfigSize"}},
		"a file as large as the limit":       {spec: fmt.Sprintf("{%s, configFiles: [{name: a, content: %s}]}", command, text(limit))},
		"a file one byte larger":             {spec: fmt.Sprintf("{%s, configFiles: [{name: a, content: %s}]}", command, text(limit+1)), want: []string{"spec.configFiles[0].content ConfigSize"}},
		"connectorsConfig as large as it":    {spec: fmt.Sprintf("{%s, connectorsConfig: %s}", command, text(limit))},
		"connectorsConfig one byte larger":   {spec: fmt.Sprintf("{%s, connectorsConfig: %s}", command, text(limit+1)), want: []string{"spec.connectorsConfig ConfigSize"}},
		"an input as large as it":            {spec: fmt.Sprintf("{%s, schedule: {cron: '@daily', input: {text: %s}}}", command, text(limit))},
		"an input one byte larger":           {spec: fmt.Sprintf("{%s, schedule: {cron: '@daily', input: {text: %s}}}", command, text(limit+1)), want: []string{"spec.schedule.input.text ConfigSize"}},
		"routes as large as it":              {spec: fmt.Sprintf("{%s, routes: %s}", command, text(limit-2))},
		"routes one byte larger":             {spec: fmt.Sprintf("{%s, routes: %s}", command, text(limit-1)), want: []string{"spec.routes ConfigSize"}},
		"a document as large as it":          {spec: fmt.Sprintf("{agent: {schema: loom.agent/1, model: m, instructions: %s}}", text(limit-55))},
		"a document one byte larger":         {spec: fmt.Sprintf("{agent: {schema: loom.agent/1, model: m, instructions: %s}}", text(limit-54)), want: []string{"spec.agent ConfigSize"}},
		"a boundary counts as it is written": {spec: fmt.Sprintf("{%s, boundary: {model: {upstream: 'http://m', audience: %s}}}", command, text(limit-47))},
		"a boundary one byte larger":         {spec: fmt.Sprintf("{%s, boundary: {model: {upstream: 'http://m', audience: %s}}}", command, text(limit-46)), want: []string{"spec.boundary ConfigSize"}},
	})
}

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/config"
)

// The rules of the schema are in words of their own, so each is broken by hand.
func TestRulesOfTheSchema(t *testing.T) {
	const port = `The API server would refuse it: Invalid value: %s.port must be a name or 1 to 65535. Correct it.`
	rows := map[string]struct{ spec, want string }{
		"a text and a reference as input":         {"{schedule: {cron: '@daily', input: {text: a, configMapKeyRef: {name: a, key: a}}}}", "spec.schedule.input: Both text"},
		"a profile without its name":              {"{seccompProfile: {type: Localhost}}", "spec.seccompProfile.localhostProfile: The profile's name is missing"},
		"a name of a profile that has none":       {"{appArmorProfile: {type: Unconfined, localhostProfile: a}}", "spec.appArmorProfile.localhostProfile: The profile's name is allowed"},
		"an item of a list twice":                 {"{pod: {imagePullSecrets: [{name: a}, {name: a}]}}", "spec.pod.imagePullSecrets[1]: The API server would refuse it: Duplicate value. Correct it."},
		"a null that is no item":                  {"{pod: {tolerations: [null]}}", "spec.pod.tolerations[0]: The API server would refuse it: "},
		"what an API server makes of nulls":       {"{pod: {labels: null}, schedule: {cron: '@daily', concurrencyPolicy: null}}", ""},
		"what an API server puts in":              {"{pod: {imagePullSecrets: [{name: a}, {name: b}]}, serve: {probes: {liveness: {grpc: {port: 1}}}}}", ""},
		"a status, which a create leaves out":     {"{}\nstatus: {state: Unheard, check: {exitCode: 0, message: ''}}", ""},
		"a port that is a name":                   {"{serve: {probes: {liveness: {httpGet: {port: http}}}}}", ""},
		"routes and a document of any kind":       {"{agent: {schema: loom.agent/1, model: a, instructions: a, x: [1, null, {y: 1.5}]}, routes: [1, {a: null}]}", ""},
		"the value of a variable is not repeated": {"{env: [{name: a, value: hidden}, {value: hidden}]}", `spec.env[1].name: "" is not a valid name`},
	}
	for _, probe := range []string{"startup", "readiness", "liveness"} {
		for _, action := range []string{"httpGet", "tcpSocket"} {
			for _, number := range []string{"0", "-1", "65536", "70000", "2147483647"} {
				rows[probe+" by "+action+" at "+number] = struct{ spec, want string }{
					fmt.Sprintf("{serve: {probes: {%s: {%s: {port: %s}}}}}", probe, action, number),
					"spec.serve.probes." + probe + ": " + fmt.Sprintf(port, action),
				}
			}
		}
	}
	read, err := readSchema()
	require.NoError(t, err)
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			object := "apiVersion: loom.beyond10x.dev/v1alpha1\nkind: LoomAgent\nmetadata: {name: a}\nspec: "
			spec := strings.Replace(row.spec, "{", "{command: {}, ", 1)
			documents, err := parse(strict(), "file", []byte(object+spec), metav1.TypeMeta{})
			require.NoError(t, err)
			require.Len(t, documents, 1)
			report := documents[0].judge(read, "registry.test/agent:1")
			if row.want == "" {
				assert.Empty(t, report.Message())
				return
			}
			assert.Contains(t, report.Message(), row.want)
			assert.NotContains(t, report.Message(), "hidden")
		})
	}
}

// bound is one keyword of the schema at one place, with a document that keeps
// it just so and one that breaks it just so.
type bound struct {
	path, keyword string
	kept, broken  map[string]any
}

// Whatever bound the schema has or will have: a document that breaks it is not
// accepted, and for no other reason, since one that keeps it is.
func TestWhatTheSchemaRefusesIsNotAccepted(t *testing.T) {
	read, err := readSchema()
	require.NoError(t, err)
	accepts := func(object map[string]any) (bool, string) {
		text, err := yaml.Marshal(object)
		require.NoError(t, err)
		documents, err := parse(strict(), "file", text, metav1.TypeMeta{})
		if err != nil {
			return false, err.Error() // A number that the type cannot hold.
		}
		require.Len(t, documents, 1)
		report := documents[0].judge(read, "registry.test/agent:1")
		return report.ExitCode() == 0, report.Message()
	}
	examined := map[string]int{}
	for _, b := range boundsOfTheSchema(t) {
		t.Run(b.path+" "+b.keyword, func(t *testing.T) {
			examined[b.keyword]++
			ok, why := accepts(b.kept)
			assert.True(t, ok, "it keeps the bound: %s", why)
			ok, _ = accepts(b.broken)
			assert.False(t, ok, "it breaks the bound")
		})
	}
	for keyword, least := range map[string]int{"required": 70, "minimum": 9, "maximum": 6, "enum": 4, "maxItems": 2, "minLength": 2, "maxLength": 2, "pattern": 2} {
		assert.GreaterOrEqual(t, examined[keyword], least, keyword)
	}
}

func boundsOfTheSchema(t *testing.T) []bound {
	t.Helper()
	text, err := config.Files.ReadFile("crd/loom.beyond10x.dev_loomagents.yaml")
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &crd))
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	delete(root["properties"].(map[string]any), "status")
	good := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"command": map[string]any{}},
	}
	return walk{t}.bounds("", root, good, func(value any) map[string]any { return value.(map[string]any) })
}

type walk struct{ *testing.T }

// bounds finds those of a schema and of all below it. The value is a good one,
// and around puts another in its place.
func (w walk) bounds(path string, schema map[string]any, value any, around func(any) map[string]any) []bound {
	var all []bound
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		limit := schema[keyword]
		add := func(kept, broken any) { all = append(all, bound{path, keyword, around(kept), around(broken)}) }
		switch keyword {
		case "minimum":
			add(limit, limit.(float64)-1)
		case "maximum":
			add(limit, limit.(float64)+1)
		case "minLength":
			add(text(schema, limit), text(schema, limit.(float64)-1))
		case "maxLength":
			add(text(schema, limit), text(schema, limit.(float64)+1))
		case "minItems":
			add(items(path, schema, limit), items(path, schema, limit.(float64)-1))
		case "maxItems":
			add(items(path, schema, limit), items(path, schema, limit.(float64)+1))
		case "enum", "pattern":
			add(value, "no such thing")
		case "required":
			for _, name := range limit.([]any) {
				broken := maps.Clone(value.(map[string]any))
				delete(broken, name.(string))
				all = append(all, bound{path + "." + name.(string), keyword, around(value), around(broken)})
			}
		case "properties":
			for _, name := range slices.Sorted(maps.Keys(limit.(map[string]any))) {
				property := limit.(map[string]any)[name].(map[string]any)
				object := beside(path, name, value.(map[string]any))
				inner := sample(path+"."+name, property)
				if former, ok := object[name]; ok {
					inner = former
				}
				all = append(all, w.bounds(path+"."+name, property, inner, func(value any) map[string]any {
					object := maps.Clone(object)
					object[name] = value
					return around(object)
				})...)
			}
		case "items":
			item := limit.(map[string]any)
			all = append(all, w.bounds(path+"[]", item, sample(path+"[]", item), func(value any) map[string]any { return around([]any{value}) })...)
		case "additionalProperties":
			entry := limit.(map[string]any)
			all = append(all, w.bounds(path+"{}", entry, sample(path+"{}", entry), func(value any) map[string]any {
				return around(map[string]any{"cpu": value})
			})...)
		case "anyOf", "default", "description", "format", "type", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
			"x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields":
		case "x-kubernetes-validations": // TestRulesOfTheSchema
		default:
			assert.Fail(w, "this test does not know how to break "+keyword, path)
		}
	}
	return all
}

// beside is an object with what it needs to be good with one of its properties.
func beside(path, name string, object map[string]any) map[string]any {
	object = maps.Clone(object)
	probe := strings.HasPrefix(path, ".spec.serve.probes.") && strings.Count(path, ".") == 4
	switch {
	case name == "localhostProfile":
		object["type"] = "Localhost"
	case probe && slices.Contains([]string{"exec", "grpc", "httpGet", "tcpSocket"}, name):
		delete(object, "exec")
	}
	return object
}

// sample is a good value: the least that the schema takes, but for what only
// the check knows.
func sample(path string, schema map[string]any) any {
	switch {
	case strings.HasSuffix(path, ".mountPath"):
		return "/a"
	case strings.HasSuffix(path, ".cron"):
		return "@daily"
	case strings.HasSuffix(path, ".upstream"):
		return "https://a.test"
	case path == ".spec.agent":
		return map[string]any{"schema": "loom.agent/1", "model": "a", "instructions": "a"}
	case strings.HasPrefix(path, ".spec.serve.probes.") && strings.Count(path, ".") == 4:
		return map[string]any{"exec": map[string]any{"command": []any{"a"}}}
	}
	if choices, ok := schema["enum"].([]any); ok {
		return choices[0]
	}
	switch schema["type"] {
	case "string":
		return "a"
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		object := map[string]any{}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			object[name.(string)] = sample(path+"."+name.(string), schema["properties"].(map[string]any)[name.(string)].(map[string]any))
		}
		return object
	default: // a number, or a number or a text
		return 1
	}
}

// text has a number of characters. The one pattern that there is, is of amounts.
func text(schema map[string]any, length any) string {
	n := int(length.(float64))
	if schema["pattern"] != nil {
		return "1." + strings.Repeat("0", n-len("1."))
	}
	return strings.Repeat("a", n)
}

// items are a number of different ones.
func items(path string, schema map[string]any, length any) []any {
	list := []any{}
	for i := range int(length.(float64)) {
		item := sample(path+"[]", schema["items"].(map[string]any))
		item.(map[string]any)["name"] = fmt.Sprint("a", i)
		list = append(list, item)
	}
	return list
}

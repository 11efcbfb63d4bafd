package main

import (
	"encoding/json"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// absent is the value of a property that is left out. A nil is null.
type absent struct{}

// The ways to run an agent.
const (
	serve    = "serve"
	command  = "command"
	schedule = "schedule"
	idle     = "serve without pods"
)

// base is a small good document of a variant.
func base(variant string) map[string]any {
	spec := map[string]any{
		"agent": map[string]any{"schema": "loom.agent/1", "model": "default", "instructions": "Say hello."},
		"image": map[string]any{"repository": "registry.test/agent", "tag": "1"},
	}
	switch variant {
	case idle:
		spec["serve"] = map[string]any{"replicas": int64(0)}
	case command:
		spec["command"] = map[string]any{"entrypoint": []any{"/bin/sh"}, "args": []any{"-c", "exit 0"}}
	case schedule:
		// It fires in leap years alone, so no run begins while a campaign lasts.
		spec["schedule"] = map[string]any{"cron": "0 0 29 2 *"}
	}
	return spec
}

// place returns a document that is as it was but for the property, with what
// the property needs around it. Lists and maps above it get it as their only
// member.
func place(document any, at path, schema apiextensionsv1.JSONSchemaProps, rest path, value any) any {
	if len(rest) == 0 {
		return value
	}
	step, next := rest[0], at.to(rest[0])
	switch step {
	case item:
		if value == (absent{}) && len(rest) == 1 {
			return []any{}
		}
		return []any{place(nil, next, *schema.Items.Schema, rest[1:], value)}
	case entry:
		if value == (absent{}) && len(rest) == 1 {
			return map[string]any{}
		}
		return map[string]any{entryKey(at): place(nil, next, *schema.AdditionalProperties.Schema, rest[1:], value)}
	}
	object := map[string]any{}
	if former, ok := document.(map[string]any); ok {
		maps.Copy(object, former)
	}
	for name, needed := range needs(at, step, schema) {
		if _, ok := object[name]; !ok {
			object[name] = needed
		}
	}
	if len(rest) == 1 && value == (absent{}) {
		delete(object, step)
		return object
	}
	object[step] = place(object[step], next, schema.Properties[step], rest[1:], value)
	return object
}

// needs is what an object must have beside one of its properties.
func needs(at path, property string, schema apiextensionsv1.JSONSchemaProps) map[string]any {
	all := map[string]any{}
	if len(at) > 0 {
		for _, name := range schema.Required {
			all[name] = sample(at.to(name), schema.Properties[name])
		}
	}
	maps.Copy(all, companions(at, property))
	return all
}

// sample is a good value of a property.
func sample(at path, schema apiextensionsv1.JSONSchemaProps) any {
	if known := knownValues(at); len(known) > 0 {
		return known[0]
	}
	switch {
	case len(schema.Enum) > 0:
		var first any
		if err := json.Unmarshal(schema.Enum[0].Raw, &first); err != nil {
			return string(schema.Enum[0].Raw)
		}
		return first
	case schema.XIntOrString, schema.Type == "integer":
		return int64(1)
	case schema.Type == "boolean":
		return true
	case schema.Type == "string":
		return "a"
	case schema.Type == "array":
		return []any{sample(at.to(item), *schema.Items.Schema)}
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return map[string]any{entryKey(at): sample(at.to(entry), *schema.AdditionalProperties.Schema)}
	default:
		return needs(at, "", schema)
	}
}

// text is how a value is shown, and how two are told apart.
func text(value any) string {
	if value == (absent{}) {
		return "absent"
	}
	shown, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(shown)
}

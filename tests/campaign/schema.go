package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/config"
)

// Steps of a path that are not the name of a property.
const (
	item  = "[]" // an item of a list
	entry = "{}" // a value of a map
)

// path leads from spec to a property.
type path []string

// String writes it as a user does, such as spec.pod.tolerations[].key.
func (p path) String() string {
	text := "spec"
	for _, step := range p {
		if step == item || step == entry {
			text += step
			continue
		}
		text += "." + step
	}
	return text
}

// to appends a step, and shares no memory.
func (p path) to(step string) path { return append(slices.Clone(p), step) }

// in tells whether the path is, or lies below, a property of spec.
func (p path) in(names ...string) bool { return len(p) > 0 && slices.Contains(names, p[0]) }

// property is one place of the schema that a document may fill.
type property struct {
	path   path
	schema apiextensionsv1.JSONSchemaProps
}

// properties walks the schema, so that a property that is new is tried without
// anybody thinking of it.
func properties(at path, schema apiextensionsv1.JSONSchemaProps) []property {
	all := []property{{at, schema}}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		all = append(all, properties(at.to(name), schema.Properties[name])...)
	}
	if schema.Items != nil {
		all = append(all, properties(at.to(item), *schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		all = append(all, properties(at.to(entry), *schema.AdditionalProperties.Schema)...)
	}
	return all
}

// specSchema reads the schema of spec from the generated CRD.
func specSchema() (apiextensionsv1.JSONSchemaProps, error) {
	const file = "crd/loom.beyond10x.dev_loomagents.yaml"
	text, err := config.Files.ReadFile(file)
	if err != nil {
		return apiextensionsv1.JSONSchemaProps{}, fmt.Errorf("read the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return apiextensionsv1.JSONSchemaProps{}, fmt.Errorf("read config/%s: %w", file, err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], nil
}

// ends tells whether the path ends in these steps.
func (p path) ends(steps string) bool {
	return strings.HasSuffix(p.String(), steps)
}

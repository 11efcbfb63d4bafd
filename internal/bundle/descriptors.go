package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const descriptorsFile = "config/bundle/descriptors.yaml"

// descriptors say how consoles show the fields of spec and status.
type descriptors struct {
	Spec   []descriptor `json:"spec"`
	Status []descriptor `json:"status"`
}

type descriptor struct {
	Path  string   `json:"path"`
	Name  string   `json:"name"`
	Hints []string `json:"hints,omitempty"`
	// description comes from the comment of the Go field.
	description string
}

// urns are the prefixes that hints are short for.
var urns = map[string]string{
	"ui:":        "urn:alm:descriptor:com.tectonic.ui:",
	"kubernetes": "urn:alm:descriptor:io.kubernetes",
}

// readDescriptors reads the descriptors and adds the descriptions of the
// schema. A field that is missing, or that the schema does not have, is an
// error.
func readDescriptors(source fs.FS, schema apiextensionsv1.JSONSchemaProps) (descriptors, error) {
	found, err := read[descriptors](source, descriptorsFile)
	if err != nil {
		return descriptors{}, err
	}
	err = errors.Join(
		complete(found.Spec, "spec", schema.Properties["spec"]),
		complete(found.Status, "status", schema.Properties["status"]))
	if err != nil {
		return descriptors{}, fmt.Errorf("%s: %w", descriptorsFile, err)
	}
	return found, nil
}

func complete(listed []descriptor, block string, schema apiextensionsv1.JSONSchemaProps) error {
	var problems []error
	paths := map[string]bool{}
	for i, d := range listed {
		field, ok := lookUp(schema, d.Path)
		if !ok {
			problems = append(problems, fmt.Errorf("%s has the path %s, which is no field", block, d.Path))
		}
		if paths[d.Path] {
			problems = append(problems, fmt.Errorf("%s has the path %s twice", block, d.Path))
		}
		paths[d.Path] = true
		listed[i].description = strings.Join(strings.Fields(field.Description), " ")
		for j, hint := range d.Hints {
			full, err := urn(hint)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s, path %s: %w", block, d.Path, err))
			}
			listed[i].Hints[j] = full
		}
	}
	for _, path := range missing(schema, "", paths) {
		problems = append(problems, fmt.Errorf("%s lacks the path %s", block, path))
	}
	return errors.Join(problems...)
}

// missing lists the fields that are not in paths. A block is described in full
// or not at all: when one of its fields is in paths, all must be.
func missing(schema apiextensionsv1.JSONSchemaProps, prefix string, paths map[string]bool) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		path := prefix + name
		if !paths[path] {
			found = append(found, path)
		}
		for listed := range paths {
			if strings.HasPrefix(listed, path+".") {
				found = append(found, missing(schema.Properties[name], path+".", paths)...)
				break
			}
		}
	}
	return found
}

func lookUp(schema apiextensionsv1.JSONSchemaProps, path string) (apiextensionsv1.JSONSchemaProps, bool) {
	for name := range strings.SplitSeq(path, ".") {
		field, ok := schema.Properties[name]
		if !ok {
			return apiextensionsv1.JSONSchemaProps{}, false
		}
		schema = field
	}
	return schema, true
}

func urn(hint string) (string, error) {
	for short, full := range urns {
		if rest, ok := strings.CutPrefix(hint, short); ok {
			return full + rest, nil
		}
	}
	return "", fmt.Errorf("the hint %q starts with neither ui: nor kubernetes", hint)
}

func schemaOf(crd apiextensionsv1.CustomResourceDefinition, version string) (apiextensionsv1.JSONSchemaProps, error) {
	for _, v := range crd.Spec.Versions {
		if v.Name == version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return *v.Schema.OpenAPIV3Schema, nil
		}
	}
	return apiextensionsv1.JSONSchemaProps{}, fmt.Errorf("%s: there is no version %s, which %s owns", crdFile, version, csvFile)
}

func (d descriptors) spec() []v1alpha1.SpecDescriptor {
	all := make([]v1alpha1.SpecDescriptor, len(d.Spec))
	for i, one := range d.Spec {
		all[i] = v1alpha1.SpecDescriptor{Path: one.Path, DisplayName: one.Name, Description: one.description, XDescriptors: one.Hints}
	}
	return all
}

func (d descriptors) status() []v1alpha1.StatusDescriptor {
	all := make([]v1alpha1.StatusDescriptor, len(d.Status))
	for i, one := range d.Status {
		all[i] = v1alpha1.StatusDescriptor{Path: one.Path, DisplayName: one.Name, Description: one.description, XDescriptors: one.Hints}
	}
	return all
}

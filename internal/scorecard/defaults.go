package scorecard

import (
	"encoding/json"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The default tests, as operator-sdk v1.42 has them in internal/scorecard/tests:
// each passes, suggests and fails for the same bundles. Where operator-sdk fails
// with the reason among the suggestions, or without one, it is an error here.

// examplesOf reads the examples; a bundle without the annotation has none.
func examplesOf(bundle *manifests.Bundle) ([]unstructured.Unstructured, error) {
	text := bundle.CSV.Annotations["alm-examples"]
	if text == "" {
		return nil, nil
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		return nil, err
	}
	examples := make([]unstructured.Unstructured, len(objects))
	for i, object := range objects {
		examples[i].Object = object
	}
	return examples, nil
}

func specs(s subject) (found []finding) {
	for _, example := range s.examples {
		if example.Object["spec"] == nil {
			found = append(found, suggestion("The example %s has no spec.", example.GetName()))
		}
	}
	return found
}

func defaultValidators(s subject) []finding {
	found := format(s)
	for _, result := range validation.DefaultBundleValidators.Validate(s.ObjectsToValidate()...) {
		for _, err := range result.Errors {
			found = append(found, fault("%s", err.Error()))
		}
		for _, warning := range result.Warnings {
			found = append(found, suggestion("%s", warning.Error()))
		}
	}
	return found
}

// format restates operator-registry's ValidateBundleFormat for a registry+v1
// bundle whose folders have their usual names.
func format(s subject) (found []finding) {
	annotations, err := annotationsOf(s.root)
	if err != nil {
		return []finding{fault("The annotations of the bundle cannot be read: %v.", err)}
	}
	for key, want := range map[string]string{"mediatype": "registry+v1", "manifests": "manifests/", "metadata": "metadata/", "package": "", "channels": ""} {
		key = "operators.operatorframework.io.bundle." + key + ".v1"
		switch value := annotations[key]; {
		case value == "":
			found = append(found, fault("metadata/annotations.yaml lacks %s.", key))
		case want != "" && value != want:
			found = append(found, fault("metadata/annotations.yaml has %q for %s, and the bundle has %q.", value, key, want))
		}
	}
	const channel = "operators.operatorframework.io.bundle.channel.default.v1"
	if value, given := annotations[channel]; given && value == "" {
		found = append(found, fault("metadata/annotations.yaml has %s without a value.", channel))
	}
	return found
}

func knownFields(s subject) (found []finding) {
	for _, example := range s.examples {
		schema := schemaOf(s, example)
		if schema == nil {
			continue
		}
		for _, block := range []string{"spec", "status"} {
			for field := range fieldsOf(example, block) {
				if _, known := schema.Properties[block].Properties[field]; !known {
					found = append(found, fault("The example %s has %s.%s, which is no field.", example.GetName(), block, field))
				}
			}
		}
	}
	return found
}

func resources(s subject) (found []finding) {
	for _, owned := range s.CSV.Spec.CustomResourceDefinitions.Owned {
		if len(owned.Resources) == 0 {
			found = append(found, fault("%s lists no resources.", owned.Name))
		}
	}
	return found
}

func specDescriptors(s subject) (found []finding) {
	for _, example := range s.examples {
		owned := ownedOf(s, example)
		if owned == nil {
			found = append(found, notOwned(example))
			continue
		}
		if example.Object["spec"] == nil {
			found = append(found, fault("The example %s has no spec.", example.GetName()))
		}
		described := map[string]bool{}
		for _, d := range owned.SpecDescriptors {
			described[d.Path] = true
		}
		for field := range fieldsOf(example, "spec") {
			if !described[field] {
				found = append(found, fault("The example %s has spec.%s, which has no descriptor.", example.GetName(), field))
			}
		}
	}
	return found
}

func statusDescriptors(s subject) (found []finding) {
	for _, example := range s.examples {
		owned := ownedOf(s, example)
		switch {
		case owned == nil:
			found = append(found, notOwned(example))
		case len(fieldsOf(example, "status")) == 0:
			found = append(found, suggestion("The example %s has no status.", example.GetName()))
		case len(owned.StatusDescriptors) == 0:
			found = append(found, fault("The example %s has a status, and no status descriptor is there.", example.GetName()))
		}
	}
	return found
}

func fieldsOf(example unstructured.Unstructured, block string) map[string]any {
	fields, _ := example.Object[block].(map[string]any)
	return fields
}

func ownedOf(s subject, example unstructured.Unstructured) *v1alpha1.CRDDescription {
	for _, owned := range s.CSV.Spec.CustomResourceDefinitions.Owned {
		if owned.Kind == example.GetKind() && owned.Version == example.GroupVersionKind().Version {
			return &owned
		}
	}
	return nil
}

func notOwned(example unstructured.Unstructured) finding {
	return fault("The example %s is of %s, which the ClusterServiceVersion does not own.", example.GetName(), example.GroupVersionKind())
}

func schemaOf(s subject, example unstructured.Unstructured) *apiextensionsv1.JSONSchemaProps {
	for _, crd := range s.V1CRDs {
		for _, version := range crd.Spec.Versions {
			if crd.Spec.Names.Kind == example.GetKind() && version.Name == example.GroupVersionKind().Version && version.Schema != nil {
				return version.Schema.OpenAPIV3Schema
			}
		}
	}
	return nil
}

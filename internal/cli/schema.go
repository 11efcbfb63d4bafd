package cli

import (
	"context"
	"fmt"
	"math"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/config"
	"github.com/beyond10x/loom-operator/internal/check"
)

// crdSchema is that of the CRD, with which an API server judges a document before
// it stores it and so before the operator's check sees it.
type crdSchema struct {
	structural *structuralschema.Structural
	values     validation.SchemaCreateValidator
	rules      *cel.Validator
}

// readSchema reads it from the manifests in the binary. An error is a mistake
// in these.
func readSchema() (*crdSchema, error) {
	const file = "crd/loom.beyond10x.dev_loomagents.yaml"
	text, err := config.Files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("read config/%s: %w", file, err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of config/%s: %w", file, err)
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, fmt.Errorf("read the schema of config/%s: %w", file, err)
	}
	values, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, fmt.Errorf("read the schema of config/%s: %w", file, err)
	}
	return &crdSchema{structural, values, cel.NewValidator(structural, true, math.MaxInt64)}, nil
}

// findings tell what the API server would refuse, in its own words. The object
// is left as it is. Its status is not judged, since a create leaves it out.
func (s *crdSchema) findings(written map[string]any) []check.Finding {
	object := runtime.DeepCopyJSON(written)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	delete(object, "status")

	problems := append(validation.ValidateCustomResource(nil, object, s.values), listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(problems) == 0 { // The rules rely on values of the right types.
		problems, _ = s.rules.Validate(context.Background(), nil, s.structural, object, nil, math.MaxInt64)
	}
	var found []check.Finding
	for _, problem := range problems {
		found = append(found, check.Finding{Field: problem.Field, Rule: "Schema", Message: message(problem)})
	}
	return found
}

// message leaves out the value itself, which may be the text of a file.
func message(problem *field.Error) string {
	text := problem.Type.String()
	if problem.Detail != "" {
		text += ": " + problem.Detail
	}
	return fmt.Sprintf("The API server would refuse it: %s. Correct it.", text)
}

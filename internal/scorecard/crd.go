package scorecard

import (
	"context"
	"fmt"
	"math"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// crdValid judges each CustomResourceDefinition as the API server does, its
// schema, defaults and rules included: the validators of a bundle drop what is
// wrong with those. Every version keeps its status apart, since the operator
// writes it so.
func crdValid(s subject) (found []finding) {
	for _, crd := range s.V1CRDs {
		defaulted := crd.DeepCopy()
		apiextensionsv1.SetDefaults_CustomResourceDefinition(defaulted)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&defaulted.Spec)
		internal := &apiextensions.CustomResourceDefinition{}
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(defaulted, internal, nil); err != nil {
			found = append(found, fault("The CustomResourceDefinition %s cannot be read: %v.", crd.Name, err))
			continue
		}
		// The API server fills in the stored versions before it validates.
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				internal.Status.StoredVersions = []string{version.Name}
			}
		}
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal) {
			found = append(found, fault("The CustomResourceDefinition %s is refused: %v.", crd.Name, err))
		}
		for _, version := range crd.Spec.Versions {
			if version.Subresources == nil || version.Subresources.Status == nil {
				found = append(found, fault("The version %s of %s has no subresource status, and the operator writes it.", version.Name, crd.Name))
			}
		}
	}
	return found
}

// schemaErrors validates an object as the API server does: by its schema, and
// by the rules in it.
func schemaErrors(schema *apiextensionsv1.JSONSchemaProps, object map[string]any) (field.ErrorList, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, err
	}
	validator, _, err := schemavalidation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	if found := schemavalidation.ValidateCustomResource(nil, object, validator); len(found) > 0 {
		return found, nil
	}
	shape, err := structural.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	rules := cel.NewValidator(shape, true, math.MaxInt64)
	if rules == nil {
		return nil, nil
	}
	found, _ := rules.Validate(context.Background(), nil, shape, object, nil, math.MaxInt64)
	return found, nil
}

package bundle_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubejson "sigs.k8s.io/json"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/check"
)

const defaultImage = "ghcr.io/beyond10x/loom-agent:dev"

func TestEveryExampleIsAccepted(t *testing.T) {
	crd := read[apiextensionsv1.CustomResourceDefinition](t, crdFile)
	for _, example := range examples(t) {
		t.Run(nameOf(t, example), func(t *testing.T) {
			assert.Empty(t, violations(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema, example))
			agent := decode(t, example)
			report := check.Run(check.Input{Agent: agent, DefaultImage: defaultImage})
			assert.Zero(t, report.ExitCode(), report.Message())
			assert.Equal(t, agent.Variant(), agent.Status.Variant, "the status is one that the agent can have")
			assert.Nil(t, agent.Spec.Image, "the operator's own agent image runs it, which mirrors have")
			documented := text(t, "docs/conditions.md")
			for _, condition := range agent.Status.Conditions {
				assert.Contains(t, documented, "| `"+condition.Type+"` |")
				assert.Contains(t, documented, "| `"+condition.Reason+"` |")
			}
		})
	}
}

func TestThereIsAnExampleForEachWayToRun(t *testing.T) {
	kinds := map[string]bool{}
	for _, example := range examples(t) {
		kinds[decode(t, example).Status.Workload.Kind] = true
	}
	assert.Equal(t, map[string]bool{"Deployment": true, "Job": true, "CronJob": true}, kinds)
}

func TestEveryExampleIsExplained(t *testing.T) {
	var explained map[string]struct{ Description string }
	require.NoError(t, json.Unmarshal([]byte(version(t).Annotations["alm-examples-metadata"]), &explained))
	for _, example := range examples(t) {
		assert.NotEmpty(t, explained[nameOf(t, example)].Description)
	}
	assert.Len(t, explained, len(examples(t)))
}

// Consoles ask for this document right after the installation.
func TestTheFirstDocumentIsTheFirstExample(t *testing.T) {
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(version(t).Annotations["operatorframework.io/initialization-resource"]), &document))
	first := examples(t)[0]
	delete(first, "status")
	assert.Equal(t, first, document)
}

// decode reads an example as the API server does with strict validation.
func decode(t *testing.T, example map[string]any) *v1alpha1.LoomAgent {
	t.Helper()
	text, err := json.Marshal(example)
	require.NoError(t, err)
	agent := &v1alpha1.LoomAgent{}
	unknown, err := kubejson.UnmarshalStrict(text, agent)
	require.NoError(t, err)
	require.Empty(t, unknown)
	return agent
}

// violations are what the API server finds with the schema alone, without CEL.
func violations(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, object map[string]any) field.ErrorList {
	t.Helper()
	converted := &apiextensions.JSONSchemaProps{}
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, converted, nil))
	validator, _, err := validation.NewSchemaValidator(converted)
	require.NoError(t, err)
	return validation.ValidateCustomResource(nil, object, validator)
}

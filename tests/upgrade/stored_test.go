package upgrade_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// OLM upgrades a CRD only when every stored object is valid under the new
// schema, and a field that is pruned or defaulted then would be a silent edit
// of somebody's document.
func TestStoredObjectsStayAsTheyAre(t *testing.T) {
	next := read[definition](t, current)
	for _, file := range stored(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			object := read[map[string]any](t, file)
			assert.Empty(t, violations(t, next, object))

			served := runtime.DeepCopyJSON(object)
			schema := structuralOf(t, next)
			pruning.Prune(served, schema, true)
			defaulting.Default(served, schema)
			assert.Equal(t, object, served)
		})
	}
}

// The test above is worth something only when it finds what breaks.
func TestBrokenStoredObjectsAreFound(t *testing.T) {
	object := read[map[string]any](t, released+"schedule-full.agent.yaml")
	for name, change := range map[string]func(*definition){
		"a field is required": spec(func(s *schema) { s.Required = append(s.Required, "tier") }),
		"a limit is lower":    property("env", func(s *schema) { s.MaxItems = new(int64(1)) }),
		"a rule is stricter": spec(func(s *schema) {
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "!has(self.schedule)"})
		}),
		"a field of status is new": func(d *definition) {
			at(d.Spec.Versions[0].Schema.OpenAPIV3Schema, []string{"status"}, func(s *schema) { s.Required = []string{"phase"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := read[definition](t, current)
			change(&changed)
			assert.NotEmpty(t, violations(t, changed, object))
		})
	}
}

// A pod template that differs from the last release's restarts every agent when
// the operator is upgraded. A release that means to do so says it in its notes,
// and takes the new files over into testdata.
func TestUpgradeRestartsNoAgent(t *testing.T) {
	for _, file := range stored(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			agent := read[v1alpha1.LoomAgent](t, file)
			former := children(t, strings.TrimSuffix(file, ".agent.yaml")+".children.yaml")
			next := map[string]any{}
			for _, child := range workload.Children(workload.Input{Agent: &agent, DefaultImage: defaultImage, ReferencesDigest: "0123abcd"}) {
				next[child.GetObjectKind().GroupVersionKind().Kind] = specOf(t, child)
			}
			for _, kind := range []string{"Deployment", "Job", "CronJob"} {
				assert.Equal(t, former[kind], next[kind])
			}
		})
	}
}

// defaultImage is the one that the files in testdata were made with.
const defaultImage = "registry.test/default-agent:1"

func stored(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(released + "*.agent.yaml")
	require.NoError(t, err)
	require.Len(t, files, 6)
	return files
}

// violations are what the API server finds, by schema and by CEL.
func violations(t *testing.T, d definition, object map[string]any) field.ErrorList {
	t.Helper()
	validator, _, err := validation.NewSchemaValidator(internal(t, d))
	require.NoError(t, err)
	found := validation.ValidateCustomResource(nil, object, validator)
	schema := structuralOf(t, d)
	rules, _ := cel.NewValidator(schema, true, celconfig.PerCallLimit).Validate(t.Context(), nil, schema, object, nil, celconfig.RuntimeCELCostBudget)
	return append(found, rules...)
}

func structuralOf(t *testing.T, d definition) *structural.Structural {
	t.Helper()
	schema, err := structural.NewStructural(internal(t, d))
	require.NoError(t, err)
	return schema
}

func internal(t *testing.T, d definition) *apiextensions.JSONSchemaProps {
	t.Helper()
	converted := &apiextensions.JSONSchemaProps{}
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.Spec.Versions[0].Schema.OpenAPIV3Schema, converted, nil))
	return converted
}

// children reads the specs of rendered objects by kind.
func children(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	specs := map[string]any{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal(document, &object))
		kind, _ := object["kind"].(string)
		specs[kind] = object["spec"]
	}
	return specs
}

func specOf(t *testing.T, child workload.Object) any {
	t.Helper()
	text, err := json.Marshal(child)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(text, &object))
	return object["spec"]
}

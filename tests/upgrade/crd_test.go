// Package upgrade_test holds what is in the tree against the last release, so
// that an upgrade is safe before it is made: the CRD by the rules of OLM v1, the
// stored objects by the new schema, and the pod templates by what runs.
package upgrade_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/yaml"
)

const (
	released = "testdata/last-release/"
	current  = "../../config/crd/loom.beyond10x.dev_loomagents.yaml"
)

type (
	definition = apiextensionsv1.CustomResourceDefinition
	schema     = apiextensionsv1.JSONSchemaProps
)

// OLM v1 refuses to upgrade when its preflight check finds something. A
// finding before the first release means: take the CRD over into testdata.
func TestTheCRDMayReplaceTheLastReleases(t *testing.T) {
	assert.Empty(t, findings(t, read[definition](t, released+"crd.yaml"), read[definition](t, current)))
}

// The test above is worth something only when the check finds what is unsafe.
func TestUnsafeChangesOfTheCRDAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*definition)
		finding string
	}{
		"the scope changes":       {func(d *definition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }, "scope"},
		"the stored version goes": {func(d *definition) { d.Spec.Versions[0].Name = "v1" }, "storedVersionRemoval"},
		"a field goes":            {spec(func(s *schema) { delete(s.Properties, "env") }), "existingFieldRemoval"},
		"a field is required":     {spec(func(s *schema) { s.Required = append(s.Required, "image") }), "required"},
		"a new field is required": {spec(func(s *schema) {
			s.Properties["tier"] = schema{Type: "string"}
			s.Required = append(s.Required, "tier")
		}), "required"},
		"a type changes":               {property("suspend", func(s *schema) { s.Type = "string" }), "type"},
		"a default comes":              {property("suspend", func(s *schema) { s.Default = &apiextensionsv1.JSON{Raw: []byte("false")} }), "default"},
		"a value of a list goes":       {nested("schedule", "concurrencyPolicy", func(s *schema) { s.Enum = s.Enum[1:] }), "enum"},
		"any text becomes a list":      {nested("schedule", "cron", func(s *schema) { s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"@daily"`)}} }), "enum"},
		"a minimum comes":              {nested("schedule", "startingDeadlineSeconds", func(s *schema) { s.Minimum = ptr.To(3600.0) }), "minimum"},
		"a maximum comes":              {nested("run", "backoffLimit", func(s *schema) { s.Maximum = ptr.To(1.0) }), "maximum"},
		"a text may not be as long":    {property("connectorsConfig", func(s *schema) { s.MaxLength = ptr.To[int64](10) }), "maxLength"},
		"a text has to be longer":      {nested("workspace", "mountPath", func(s *schema) { s.MinLength = ptr.To[int64](500) }), "minLength"},
		"a list may not be as long":    {property("env", func(s *schema) { s.MaxItems = ptr.To[int64](1) }), "maxItems"},
		"a list has to be longer":      {property("env", func(s *schema) { s.MinItems = ptr.To[int64](2) }), "minItems"},
		"a text has to have a pattern": {nested("image", "tag", func(s *schema) { s.Pattern = "^v" }), "pattern"},
		"a rule comes that nobody knows": {spec(func(s *schema) {
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "false"})
		}), "unhandled"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := read[definition](t, current)
			test.change(&changed)
			assert.Contains(t, findings(t, read[definition](t, released+"crd.yaml"), changed), test.finding)
		})
	}
}

// What people need most is allowed: another field, another word for it.
func TestSafeChangesOfTheCRDPass(t *testing.T) {
	for name, change := range map[string]func(*definition){
		"a field comes":                 spec(func(s *schema) { s.Properties["tier"] = schema{Type: "string"} }),
		"a field is described anew":     property("suspend", func(s *schema) { s.Description = "Rest." }),
		"one more value may be chosen":  nested("schedule", "concurrencyPolicy", func(s *schema) { s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"Queue"`)}) }),
		"a list may be longer":          property("env", func(s *schema) { s.MaxItems = ptr.To[int64](1000) }),
		"another column is printed":     func(d *definition) { d.Spec.Versions[0].AdditionalPrinterColumns = nil },
		"a version comes, not yet used": func(d *definition) { d.Spec.Versions = append(d.Spec.Versions, nextVersion(d)) },
	} {
		t.Run(name, func(t *testing.T) {
			changed := read[definition](t, current)
			change(&changed)
			assert.Empty(t, findings(t, read[definition](t, released+"crd.yaml"), changed))
		})
	}
}

// findings are the names of the rules that a change breaks, with the settings
// of operator-controller: other words are allowed, more values are, and what
// no rule knows is not.
func findings(t *testing.T, former, next definition) map[string][]string {
	t.Helper()
	former.Status.StoredVersions = []string{"v1alpha1"}
	check, err := runner.New(&config.Config{
		Conversion:           config.ConversionPolicyIgnore,
		UnhandledEnforcement: config.EnforcementPolicyError,
		Validations: []config.ValidationConfig{
			{Name: "description", Enforcement: config.EnforcementPolicyNone},
			{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": "Allow"}},
		},
	}, runner.DefaultRegistry())
	require.NoError(t, err)
	results := check.Run(&former, &next)
	found := map[string][]string{}
	for _, result := range results.CRDValidation {
		if len(result.Errors) > 0 {
			found[result.Name] = append(found[result.Name], result.Errors...)
		}
	}
	for _, version := range slices.Concat(results.SameVersionValidation, results.ServedVersionValidation) {
		for _, property := range version.PropertyComparisons {
			for _, result := range property.ComparisonResults {
				if len(result.Errors) > 0 {
					found[result.Name] = append(found[result.Name], property.Property+": "+result.Errors[0])
				}
			}
		}
	}
	return found
}

// spec changes the schema of the spec.
func spec(change func(*schema)) func(*definition) { return below([]string{"spec"}, change) }

// property changes the schema of a field of the spec, and nested that of a
// field of such a field.
func property(name string, change func(*schema)) func(*definition) {
	return below([]string{"spec", name}, change)
}

func nested(block, name string, change func(*schema)) func(*definition) {
	return below([]string{"spec", block, name}, change)
}

func below(path []string, change func(*schema)) func(*definition) {
	return func(d *definition) { at(d.Spec.Versions[0].Schema.OpenAPIV3Schema, path, change) }
}

func at(in *schema, path []string, change func(*schema)) {
	if len(path) == 0 {
		change(in)
		return
	}
	field, ok := in.Properties[path[0]]
	if !ok {
		panic("there is no field " + path[0])
	}
	at(&field, path[1:], change)
	in.Properties = maps.Clone(in.Properties)
	in.Properties[path[0]] = field
}

func nextVersion(d *definition) apiextensionsv1.CustomResourceDefinitionVersion {
	version := *d.Spec.Versions[0].DeepCopy()
	version.Name, version.Storage = "v1beta1", false
	return version
}

func read[T any](t *testing.T, file string) T {
	t.Helper()
	var value T
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, &value), file)
	return value
}

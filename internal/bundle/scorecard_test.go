package bundle_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/internal/scorecard"
)

// The six default tests of scorecard, restated so that a suggestion fails too.
// The sixth, olm-bundle-validation, is TestNoValidatorFindsAnything together
// with TestTheAnnotationsDescribeTheFolder.
func TestScorecardHasNothingToSuggest(t *testing.T) {
	owned := version(t).Spec.CustomResourceDefinitions.Owned
	require.Len(t, owned, 1)
	described := map[string]bool{}
	for _, descriptor := range owned[0].SpecDescriptors {
		described[descriptor.Path] = true
	}
	for _, example := range examples(t) {
		t.Run(nameOf(t, example), func(t *testing.T) {
			assert.Equal(t, owned[0].Kind, example["kind"])
			spec, status := block(example, "spec"), block(example, "status")
			assert.NotEmpty(t, spec, "basic-check-spec")
			assert.NotEmpty(t, status, "olm-status-descriptors suggests a status for each example")
			for name, fields := range map[string]map[string]any{"spec": spec, "status": status} {
				known := schemaOf(t, name).Properties
				for field := range fields {
					assert.Contains(t, known, field, "olm-crds-have-validation")
				}
			}
			for field := range spec {
				assert.True(t, described[field], "olm-spec-descriptors: %s", field)
			}
		})
	}
	assert.NotEmpty(t, owned[0].Resources, "olm-crds-have-resources")
	assert.NotEmpty(t, owned[0].StatusDescriptors, "olm-status-descriptors")
}

// Every test that the image has is run, from the image of the release.
func TestScorecardRunsEveryTest(t *testing.T) {
	config := read[v1alpha3.Configuration](t, "bundle/tests/scorecard/config.yaml")
	assert.Equal(t, "scorecard.operatorframework.io/v1alpha3", config.APIVersion)
	assert.Equal(t, v1alpha3.ConfigurationKind, config.Kind)
	release, err := bundle.ReadRelease(os.DirFS(root))
	require.NoError(t, err)
	suites := map[string][]string{}
	for _, stage := range config.Stages {
		for _, test := range stage.Tests {
			require.Len(t, test.Entrypoint, 2)
			assert.Equal(t, "/loom-scorecard", test.Entrypoint[0])
			assert.Equal(t, release.Images.Scorecard, test.Image)
			assert.Equal(t, test.Entrypoint[1]+"-test", test.Labels["test"])
			suites[test.Labels["suite"]] = append(suites[test.Labels["suite"]], test.Entrypoint[1])
		}
	}
	assert.Equal(t, []string{"basic-check-spec"}, suites["basic"])
	assert.Equal(t, []string{"olm-bundle-validation", "olm-crds-have-validation", "olm-crds-have-resources", "olm-spec-descriptors", "olm-status-descriptors"}, suites["olm"])
	assert.ElementsMatch(t, scorecard.Names(), slices.Concat(slices.Collect(maps.Values(suites))...))
}

func block(example map[string]any, name string) map[string]any {
	fields, _ := example[name].(map[string]any)
	return fields
}

func nameOf(t *testing.T, example map[string]any) string {
	t.Helper()
	name, _ := block(example, "metadata")["name"].(string)
	require.NotEmpty(t, name)
	return name
}

package bundle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

// validators are those that read a bundle and need no network: the one of
// architectures pulls the images.
var validators = map[string]interfaces.Validator{
	"the bundle":                     validation.BundleValidator,
	"the cluster service version":    validation.ClusterServiceVersionValidator,
	"the custom resource definition": validation.CustomResourceDefinitionValidator,
	"what OperatorHub asks for":      validation.OperatorHubV2Validator,
	"the capability level":           validation.StandardCapabilitiesValidator,
	"the categories":                 validation.StandardCategoriesValidator,
	"the APIs that Kubernetes drops": validation.AlphaDeprecatedAPIsValidator,
	"good practices":                 validation.GoodPracticesValidator,
	"what the community asked for":   validation.CommunityOperatorValidator,
	"the other objects":              validation.ObjectValidator,
	"operator groups":                validation.OperatorGroupValidator,
	"package manifests":              validation.PackageManifestValidator,
}

// findings are the errors and the warnings of a validator.
func findings(validator interfaces.Validator, loaded *manifests.Bundle, kubernetes string) []string {
	objects := append(loaded.ObjectsToValidate(), toAny(loaded.Objects)...)
	objects = append(objects, map[string]string{"k8s-version": kubernetes})
	var found []string
	for _, result := range validator.Validate(objects...) {
		for _, finding := range append(result.Errors, result.Warnings...) {
			found = append(found, finding.Error())
		}
	}
	return found
}

// No validator has anything to say about the bundle. operator-sdk exits with 0
// on warnings, so they are asserted here.
func TestNoValidatorFindsAnything(t *testing.T) {
	loaded := load(t)
	for name, validator := range validators {
		for _, kubernetes := range []string{"1.30", "1.37"} {
			assert.Empty(t, findings(validator, loaded, kubernetes), "%s on Kubernetes %s", name, kubernetes)
		}
	}
}

// The test above is worth something only when the validators read what they
// are given.
func TestAFaultInTheBundleIsFound(t *testing.T) {
	const csv, crd, deployment = "config/bundle/csv.yaml", "config/crd/loom.beyond10x.dev_loomagents.yaml", "config/manager/deployment.yaml"
	const modes = "  - {type: OwnNamespace, supported: true}\n  - {type: SingleNamespace, supported: true}\n" +
		"  - {type: MultiNamespace, supported: true}\n  - {type: AllNamespaces, supported: true}\n"
	for name, test := range map[string]struct{ validator, file, from, to string }{
		"a child is of a dropped version":     {"the APIs that Kubernetes drops", csv, "version: batch/v1}", "version: batch/v1beta1}"},
		"the lowest version is not given":     {"the cluster service version", csv, "  minKubeVersion: 1.30.0\n", ""},
		"the lowest version is cut short":     {"what OperatorHub asks for", csv, "minKubeVersion: 1.30.0", "minKubeVersion: \"1.30\""},
		"the level does not exist":            {"the capability level", csv, "Basic Install", "Basic"},
		"the category does not exist":         {"the categories", csv, "Developer Tools", "Agents"},
		"the address is none":                 {"what OperatorHub asks for", csv, "maintainers@beyond10x.dev", "maintainers"},
		"the owned kind is another one":       {"the bundle", csv, "kind: LoomAgent", "kind: Loom"},
		"the owned kind is not described":     {"good practices", csv, "description: An AI agent that serves, runs a program once for each change of its document, or runs on a schedule.", "description: \"\""},
		"the manager asks for no resources":   {"good practices", deployment, "requests: {cpu: 50m, memory: 96Mi}", ""},
		"a channel has an unusual name":       {"good practices", "config/bundle/annotations.yaml", "candidate-v0,stable-v0", "alpha,stable-v0"},
		"no install mode is supported":        {"the cluster service version", csv, modes, "  - {type: AllNamespaces, supported: false}\n"},
		"the version of the CRD is not there": {"the custom resource definition", crd, "storage: true", "storage: false"},
	} {
		t.Run(name, func(t *testing.T) {
			files := source(t)
			change(t, files, test.file, test.from, test.to)
			built, err := bundle.Files(files)
			require.NoError(t, err)
			folder := t.TempDir()
			for file, content := range built {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
			}
			loaded, err := manifests.GetBundleFromDir(filepath.Join(folder, bundle.Folder))
			require.NoError(t, err)
			assert.NotEmpty(t, findings(validators[test.validator], loaded, "1.37"))
		})
	}
}

// What operator-sdk selects by the label suite=operatorframework runs on the
// manifests alone.
func TestTheBundleLoadsAsOperatorSDKLoadsIt(t *testing.T) {
	loaded := load(t)
	require.Equal(t, "loom-operator", loaded.Package)
	assert.Equal(t, []string{"candidate-v0", "stable-v0"}, loaded.Channels)
	assert.Equal(t, "stable-v0", loaded.DefaultChannel)
	assert.Len(t, loaded.V1CRDs, 1)
	assert.Empty(t, loaded.V1beta1CRDs)
	assert.Len(t, loaded.Objects, 7)
}

func toAny[T any](values []T) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = value
	}
	return all
}

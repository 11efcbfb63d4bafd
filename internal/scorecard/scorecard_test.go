package scorecard_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/scorecard"
)

const (
	bundle = "../../bundle"
	csv    = "manifests/loom-operator.clusterserviceversion.yaml"
	crd    = "manifests/loom.beyond10x.dev_loomagents.yaml"
)

func TestTheBundlePasses(t *testing.T) {
	for _, name := range scorecard.Names() {
		t.Run(name, func(t *testing.T) {
			result := only(t, scorecard.Run(name, bundle))
			assert.Equal(t, name, result.Name)
			assert.Equal(t, v1alpha3.PassState, result.State)
			assert.Empty(t, result.Errors)
			assert.Empty(t, result.Suggestions)
		})
	}
}

// Each fault that a bundle can have turns a test red, and the text says what
// it is.
func TestAPlantedFaultIsFound(t *testing.T) {
	for name, fault := range map[string]struct{ test, file, from, to, want string }{
		"a rule is missing": {"loom-permissions-exact", csv, `(?m)^          - cronjobs\n`, "",
			"The operator needs create batch/cronjobs, which is not granted."},
		"a rule is too much": {"loom-permissions-exact", csv, `(?m)^          - tokenreviews\n          verbs:\n`, "          - tokenreviews\n          verbs:\n          - '*'\n",
			"The operator is granted * authentication.k8s.io/tokenreviews, which it does not need."},
		"a lease of any name may be written": {"loom-permissions-exact", csv, `(?m)^          resourceNames:\n          - loom-operator\n`, "",
			"The operator is granted get coordination.k8s.io/leases, which it does not need."},
		"a descriptor is missing": {"loom-descriptors-complete", csv, `(?m)^        path: suspend\n`, "        path: suspended\n",
			"spec.suspend has no descriptor."},
		"a status descriptor is missing": {"loom-descriptors-complete", csv, `(?m)^        path: nextRun\n`, "        path: next\n",
			"status.nextRun has no descriptor."},
		"the descriptor of an example's field is missing": {"olm-spec-descriptors", csv, `(?m)^        path: serve\n`, "        path: server\n",
			"The example support-desk has spec.serve, which has no descriptor."},
		"an image is named by tag": {"loom-images-pinned", csv, `image: ghcr.io/beyond10x/loom-operator@sha256:[0-9a-f]{64}`, "image: ghcr.io/beyond10x/loom-operator:0.1.0",
			`The image of container manager is "ghcr.io/beyond10x/loom-operator:0.1.0", which is no reference by digest.`},
		"an image is not listed": {"loom-images-pinned", csv, `(?m)^  - image: ghcr.io/beyond10x/loom-agent@.*\n    name: loom-agent\n`, "",
			"which relatedImages lacks."},
		"an example is refused by the check": {"loom-examples-accepted", csv, `"cron": "\* \* \* \* \*"`, `"cron": "every day"`,
			"The example morning-digest is refused: "},
		"an example has a field that does not exist": {"olm-crds-have-validation", csv, `"serve": \{`, `"server": {`,
			"The example support-desk has spec.server, which is no field."},
		"a required field is added": {"loom-examples-accepted", crd, `(?m)^            description: What to run and how.\n`, "            description: What to run and how.\n            required: [secretRef]\n",
			"spec.secretRef: Required value"},
		"an example has no status": {"olm-status-descriptors", csv, `"status": \{\n            "check"`, "\"state\": {\n            \"check\"",
			"The example support-desk has no status."},
		"an example has no spec": {"basic-check-spec", csv, `"spec": \{\n            "agent"`, "\"specs\": {\n            \"agent\"",
			"The example support-desk has no spec."},
		"no resources are listed": {"olm-crds-have-resources", csv, `(?m)^      resources:\n(      - .*\n        .*\n        .*\n)+`, "",
			"loomagents.loom.beyond10x.dev lists no resources."},
		"the lowest version of Kubernetes is missing": {"loom-no-warnings", csv, `(?m)^  minKubeVersion: .*\n`, "", "minKubeVersion"},
		"the level does not exist":                    {"loom-no-warnings", csv, `capabilities: Basic Install`, "capabilities: Basic", "capabilities"},
		"the CRD is another one":                      {"olm-bundle-validation", crd, `(?m)^    kind: LoomAgent\n`, "    kind: Loom\n", "LoomAgent"},
		"a channel is missing": {"olm-bundle-validation", "metadata/annotations.yaml", `(?m)^  operators.operatorframework.io.bundle.channels.v1: .*\n`, "",
			"metadata/annotations.yaml lacks operators.operatorframework.io.bundle.channels.v1."},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS(bundle)))
			plant(t, filepath.Join(folder, fault.file), fault.from, fault.to)

			result := only(t, scorecard.Run(fault.test, folder))

			assert.Contains(t, strings.Join(append(result.Errors, result.Suggestions...), "\n"), fault.want)
			assert.Equal(t, len(result.Errors) > 0, result.State == v1alpha3.FailState)
		})
	}
}

func TestATestThatDoesNotExistFails(t *testing.T) {
	result := only(t, scorecard.Run("loom-unknown", bundle))
	assert.Equal(t, v1alpha3.FailState, result.State)
	assert.Contains(t, result.Errors[0], `There is no test "loom-unknown". There are: basic-check-spec, `)
}

func TestABundleThatCannotBeReadFails(t *testing.T) {
	for name, content := range map[string]string{
		"there is none":              "",
		"the examples are no JSON":   "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: x, annotations: {alm-examples: '['}}\n",
		"the version is cut in half": "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nspec: [\n",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "csv.yaml"), []byte(content), 0o600))
			for _, name := range scorecard.Names() {
				result := only(t, scorecard.Run(name, folder))
				assert.Equal(t, v1alpha3.FailState, result.State)
				assert.Contains(t, result.Errors[0], "cannot be read")
			}
		})
	}
}

func only(t *testing.T, status v1alpha3.TestStatus) v1alpha3.TestResult {
	t.Helper()
	require.Len(t, status.Results, 1)
	return status.Results[0]
}

// plant replaces the first match in a file, which must have one.
func plant(t *testing.T, file, pattern, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	at := regexp.MustCompile(pattern).FindIndex(text)
	require.NotNil(t, at, pattern)
	require.NoError(t, os.WriteFile(file, []byte(string(text[:at[0]])+to+string(text[at[1]:])), 0o600))
}

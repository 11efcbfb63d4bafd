package scorecard_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// static are the tests that need no cluster.
var static = []string{
	"basic-check-spec", "olm-bundle-validation", "olm-crds-have-validation", "olm-crds-have-resources", "olm-spec-descriptors", "olm-status-descriptors",
	"loom-no-warnings", "loom-metadata-consistent", "loom-crd-valid", "loom-examples-accepted", "loom-invalid-refused",
	"loom-descriptors-complete", "loom-images-pinned", "loom-permissions-exact",
}

func TestTheBundlePasses(t *testing.T) {
	for _, name := range static {
		t.Run(name, func(t *testing.T) {
			result := run(t, name, bundle)
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
		"an example is refused by the check": {"loom-examples-accepted", csv, `"cron": "0 7 \* \* \*"`, `"cron": "every day"`,
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
		"the default channel is not listed": {"loom-metadata-consistent", "metadata/annotations.yaml", `channel.default.v1: stable-v0`, "channel.default.v1: stable-v1",
			`The default channel "stable-v1" is none of the channels ["candidate-v0" "stable-v0"].`},
		"the default channel is empty": {"olm-bundle-validation", "metadata/annotations.yaml", `channel.default.v1: stable-v0`, "channel.default.v1: \"\"",
			"channel.default.v1 without a value."},
		"the package is another one": {"loom-metadata-consistent", "metadata/annotations.yaml", `package.v1: loom-operator`, "package.v1: loom",
			"The ClusterServiceVersion is named loom-operator.v"},
		"an install mode is missing": {"loom-metadata-consistent", csv, `(?m)^  - supported: true\n    type: MultiNamespace\n`, "",
			"The install mode MultiNamespace is not offered."},
		"a feature is neither true nor false": {"loom-metadata-consistent", csv, `io/disconnected: "true"`, `io/disconnected: "yes"`, `is "yes"; true or false is needed.`},
		"the time is no RFC 3339":             {"loom-metadata-consistent", csv, `createdAt: "[0-9-]+T`, `createdAt: "yesterday `, "The annotation createdAt is"},
		"the tile shows another image":        {"loom-metadata-consistent", csv, `containerImage: .*`, "containerImage: ghcr.io/beyond10x/loom-operator:0.1.0", "The annotation containerImage is"},
		"the configuration is elsewhere":      {"loom-metadata-consistent", "metadata/annotations.yaml", `config.v1: tests/scorecard/`, "config.v1: tests/", "which is no file."},
		"the status is not kept apart":        {"loom-crd-valid", crd, `(?m)^      status: \{\}\n`, "", "has no subresource status"},
		"a rule of the schema does not parse": {"loom-crd-valid", crd, `has\(self.text\) && has`, "has(self.text) && && has", "is refused"},
		"a rule of the schema is removed":     {"loom-invalid-refused", crd, `'?!\(has\(self.text\) && has\(self.configMapKeyRef\)\)'?`, "\"true\"", `A document with two inputs of a schedule is refused without saying "give text or configMapKeyRef, not both"`},
		"a limit of the schema is removed": {"loom-invalid-refused", crd, `(?m)(                  replicas:\n(?:                    .*\n)*?)                    minimum: 0\n`, "                  replicas:\n                    format: int32\n                    type: integer\n",
			`A document with a negative number of replicas is refused without saying "should be greater than or equal to 0"`},
		"a message of the schema is another one": {"loom-invalid-refused", crd, `give text or configMapKeyRef, not both`, "invalid", `is refused without saying "give text or configMapKeyRef, not both"`},
		"there is no example":                    {"loom-examples-accepted", csv, `(?ms)^    alm-examples: .*?^    alm-examples-metadata`, "    alm-examples-metadata", "There is no example."},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS(bundle)))
			plant(t, filepath.Join(folder, fault.file), fault.from, fault.to)

			result := run(t, fault.test, folder)

			assert.Contains(t, strings.Join(append(result.Errors, result.Suggestions...), "\n"), fault.want)
			assert.Equal(t, len(result.Errors) > 0, result.State == v1alpha3.FailState)
		})
	}
}

func TestEveryTestIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/scorecard.md")
	require.NoError(t, err)
	for _, name := range scorecard.Names() {
		assert.Contains(t, string(text), "`"+name+"`")
	}
}

func TestATestThatDoesNotExistFails(t *testing.T) {
	result := run(t, "loom-unknown", bundle)
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
				result := run(t, name, folder)
				assert.Equal(t, v1alpha3.FailState, result.State)
				assert.Contains(t, result.Errors[0], "cannot be read")
			}
		})
	}
}

func TestAClusterThatCannotBeReachedFails(t *testing.T) {
	count := 0
	for _, name := range scorecard.Names() {
		if slices.Contains(static, name) {
			continue
		}
		count++
		result := run(t, name, bundle)
		assert.Equal(t, v1alpha3.FailState, result.State)
		assert.Equal(t, []string{"The cluster cannot be reached: there is none."}, result.Errors)
	}
	assert.Equal(t, 7, count)
}

// run runs a test where there is no cluster.
func run(t *testing.T, name, folder string) v1alpha3.TestResult {
	t.Helper()
	status := scorecard.Run(t.Context(), name, folder, func() (scorecard.Cluster, error) { return scorecard.Cluster{}, errors.New("there is none") })
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

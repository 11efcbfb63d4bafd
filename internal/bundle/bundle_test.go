package bundle_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

// The bundle is what the source gives, byte for byte and without another file.
// make generate brings it up to date.
func TestTheBundleIsUpToDate(t *testing.T) {
	wanted, err := bundle.Files(os.DirFS(root))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, start := range []string{bundle.Folder, bundle.Dockerfile} {
		require.NoError(t, filepath.WalkDir(root+start, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				found[strings.TrimPrefix(path, root)] = true
			}
			return err
		}))
	}
	for file, content := range wanted {
		if assert.True(t, found[file], "%s is missing; run make generate", file) {
			assert.Equal(t, string(content), text(t, file), "%s is out of date; run make generate", file)
		}
		delete(found, file)
	}
	assert.Empty(t, found, "files that nothing generates")
}

// OLM makes the service account, the roles and their bindings itself, and the
// namespace is the user's to choose.
func TestTheManifestsAreTheOnesThatOLMDoesNotMake(t *testing.T) {
	entries, err := os.ReadDir(root + "bundle/manifests")
	require.NoError(t, err)
	var files []string
	for _, entry := range entries {
		files = append(files, entry.Name())
		manifest := text(t, "bundle/manifests/"+entry.Name())
		assert.NotContains(t, manifest, "\n---", "%s: only the first document of a file is read", entry.Name())
		assert.NotContains(t, manifest, "\n  namespace:", entry.Name())
	}
	assert.Equal(t, []string{
		"loom-operator-loomagent-admin_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"loom-operator-loomagent-editor_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"loom-operator-loomagent-viewer_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"loom-operator-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"loom-operator-metrics_v1_service.yaml",
		"loom-operator.clusterserviceversion.yaml",
		"loom.beyond10x.dev_loomagents.yaml",
	}, files)
}

// A bundle travels in a ConfigMap, whose limit is 1 MiB. The validator warns
// from 85 percent on.
func TestTheBundleIsSmallEnough(t *testing.T) {
	loaded := load(t)
	assert.Less(t, loaded.CompressedSize, int64(1<<20)*85/100)
	assert.Positive(t, loaded.CompressedSize)
}

type annotations struct {
	Annotations map[string]string `json:"annotations"`
}

// OLM reads the file, and registries read the labels of the image.
func TestTheLabelsOfTheImageAreTheAnnotations(t *testing.T) {
	labels := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^LABEL ([^=]+)=(.*)$`).FindAllStringSubmatch(text(t, bundle.Dockerfile), -1) {
		labels[match[1]] = match[2]
	}
	assert.Equal(t, read[annotations](t, "bundle/metadata/annotations.yaml").Annotations, labels)
}

// The format as operator-registry's ValidateBundleFormat checks it.
func TestTheAnnotationsDescribeTheFolder(t *testing.T) {
	found := read[annotations](t, "bundle/metadata/annotations.yaml").Annotations
	dockerfile := text(t, bundle.Dockerfile)
	for annotation, folder := range map[string]string{
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.test.config.v1":      "tests/scorecard/",
	} {
		assert.Equal(t, folder, found[annotation])
		assert.DirExists(t, root+"bundle/"+folder)
		assert.Contains(t, dockerfile, "COPY bundle/"+strings.TrimSuffix(folder, "/")+" /"+folder)
	}
	assert.Equal(t, "registry+v1", found["operators.operatorframework.io.bundle.mediatype.v1"])
	assert.Equal(t, "scorecard+v1", found["operators.operatorframework.io.test.mediatype.v1"])
	assert.Equal(t, bundle.Package, found["operators.operatorframework.io.bundle.package.v1"])
	channels := strings.Split(found["operators.operatorframework.io.bundle.channels.v1"], ",")
	assert.True(t, slices.Contains(channels, found["operators.operatorframework.io.bundle.channel.default.v1"]), "the default is one of the channels")
	for _, value := range found {
		assert.NotEmpty(t, value)
	}
}

package bundle_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubejson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

const (
	root    = "../../"
	csvFile = "bundle/manifests/loom-operator.clusterserviceversion.yaml"
	crdFile = "bundle/manifests/loom.beyond10x.dev_loomagents.yaml"
)

// load loads the bundle from its root, so that channels and package are
// checked too. operator-sdk loads the manifests only and misses them.
func load(t *testing.T) *manifests.Bundle {
	t.Helper()
	loaded, err := manifests.GetBundleFromDir(root + bundle.Folder)
	require.NoError(t, err)
	return loaded
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(root + file)
	require.NoError(t, err)
	return string(content)
}

// read reads a file strictly: a key that is misspelled, if only in its case, is
// dropped in silence by everybody else.
func read[T any](t *testing.T, file string) T {
	t.Helper()
	var value T
	object, err := yaml.YAMLToJSONStrict([]byte(text(t, file)))
	require.NoError(t, err, file)
	problems, err := kubejson.UnmarshalStrict(object, &value)
	require.NoError(t, err, file)
	require.Empty(t, problems, file)
	return value
}

func version(t *testing.T) v1alpha1.ClusterServiceVersion {
	t.Helper()
	return read[v1alpha1.ClusterServiceVersion](t, csvFile)
}

// schemaOf returns the schema of a block of the LoomAgent.
func schemaOf(t *testing.T, block string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	crd := read[apiextensionsv1.CustomResourceDefinition](t, crdFile)
	require.Len(t, crd.Spec.Versions, 1)
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[block]
}

// examples returns the examples, each as a document of its own.
func examples(t *testing.T) []map[string]any {
	t.Helper()
	var documents []map[string]any
	require.NoError(t, json.Unmarshal([]byte(version(t).Annotations["alm-examples"]), &documents))
	require.NotEmpty(t, documents)
	return documents
}

// source is a copy of the files that the bundle is built from, to be changed.
func source(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	repository := os.DirFS(root)
	require.NoError(t, fs.WalkDir(repository, "config", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(repository, file)
		files[file] = &fstest.MapFile{Data: content}
		return err
	}))
	return files
}

// change replaces a text in a file, which must have it.
func change(t *testing.T, files fstest.MapFS, file, from, to string) {
	t.Helper()
	before := string(files[file].Data)
	require.Contains(t, before, from, file)
	files[file] = &fstest.MapFile{Data: []byte(strings.Replace(before, from, to, 1))}
}

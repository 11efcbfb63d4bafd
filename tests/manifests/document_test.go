package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// block is a piece of docs/install.md that a reader copies.
type block struct{ section, language, text string }

func blocks(t *testing.T, language string) []block {
	t.Helper()
	text, err := os.ReadFile(root + "docs/install.md")
	require.NoError(t, err)
	var found []block
	section := ""
	for _, part := range regexp.MustCompile("(?ms)^## ([^\n]+)$|^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		switch {
		case part[1] != "":
			section = part[1]
		case part[2] == language:
			found = append(found, block{section, language, part[3]})
		}
	}
	require.NotEmpty(t, found)
	return found
}

// What a reader copies is read strictly by whoever it is meant for, and names
// the package and a channel that exist.
func TestTheDocumentsYAMLIsWhatOLMReads(t *testing.T) {
	annotations := strict[struct {
		Annotations map[string]string `json:"annotations"`
	}](t, file(t, "bundle/metadata/annotations.yaml")).Annotations
	namespace := strict[corev1.Namespace](t, file(t, "config/manager/namespace.yaml"))
	kinds := map[string]int{}
	for _, b := range blocks(t, "yaml") {
		for document := range strings.SplitSeq(b.text, "---\n") {
			var kind struct{ Kind string }
			require.NoError(t, yaml.Unmarshal([]byte(document), &kind))
			kinds[kind.Kind]++
			switch kind.Kind {
			case v1alpha1.SubscriptionKind:
				subscription := strict[v1alpha1.Subscription](t, document)
				assert.Equal(t, annotations["operators.operatorframework.io.bundle.package.v1"], subscription.Spec.Package)
				assert.Equal(t, annotations["operators.operatorframework.io.bundle.channel.default.v1"], subscription.Spec.Channel)
			case v1alpha1.CatalogSourceKind:
				strict[v1alpha1.CatalogSource](t, document)
			case operatorsv1.OperatorGroupKind:
				strict[operatorsv1.OperatorGroup](t, document)
			case "Namespace":
				assert.Equal(t, namespace.Name, strict[corev1.Namespace](t, document).Name)
				assert.Subset(t, namespace.Labels, strict[corev1.Namespace](t, document).Labels)
			case types.KustomizationKind:
				strict[types.Kustomization](t, document)
			case "ImageDigestMirrorSet": // Its type is not among the libraries of this project.
			default:
				assert.Fail(t, "this test does not know the kind "+kind.Kind)
			}
		}
	}
	assert.Equal(t, map[string]int{
		"Subscription": 4, "CatalogSource": 1, "OperatorGroup": 1, "Namespace": 1, "Kustomization": 2, "ImageDigestMirrorSet": 1,
	}, kinds)
}

// The kustomizations of the document render, with the folder of this tree in
// place of the one on the internet, and end with the images that they name.
func TestTheDocumentsKustomizationsRender(t *testing.T) {
	for _, b := range blocks(t, "yaml") {
		if !strings.Contains(b.text, "kind: Kustomization") {
			continue
		}
		folder := t.TempDir()
		release(t, folder)
		target, err := filepath.Abs(root)
		require.NoError(t, err)
		relative, err := filepath.Rel(folder, target)
		require.NoError(t, err)
		text := regexp.MustCompile(`https://\S*/(config/\S+)\?ref=\S+`).ReplaceAllString(b.text, relative+"/$1")
		require.NoError(t, filesys.MakeFsOnDisk().WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text)))
		found := render(t, folder)
		if b.section == "kubectl" {
			manager := managerOf(t, found)
			assert.Equal(t, "ghcr.io/beyond10x/loom-operator:0.1.0", manager.Image)
			assert.Contains(t, manager.Env, corev1.EnvVar{Name: "RELATED_IMAGE_LOOM_AGENT", Value: "ghcr.io/beyond10x/loom-agent:0.1.0"})
			assert.Contains(t, manager.Env, corev1.EnvVar{Name: "WATCH_NAMESPACE", Value: "team-a,team-b"})
			continue
		}
		for key, object := range found {
			assert.Equal(t, "team-a", object.GetNamespace(), key)
		}
	}
}

func TestTheDocumentsTargetsExist(t *testing.T) {
	text := file(t, "docs/install.md")
	makefile := file(t, "Makefile")
	for _, match := range regexp.MustCompile("`make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
		assert.Contains(t, makefile, "\n"+match[1]+":", "make %s", match[1])
	}
	for _, match := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text, -1) {
		assert.FileExists(t, root+"docs/"+match[1])
	}
}

// release writes the manifests of a release, as tests/release does.
func release(t *testing.T, folder string) {
	t.Helper()
	for name, source := range map[string]string{"install.yaml": "default", "install-namespaced.yaml": "namespaced", "crd.yaml": "crd"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), rendered(t, root+"config/"+source), 0o600))
	}
}

func strict[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &value), text)
	return value
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	require.NoError(t, err)
	return string(text)
}

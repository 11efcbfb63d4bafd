package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/images/pack"
)

// newWriter writes for one platform, to save time.
func newWriter(t *testing.T) writer {
	t.Helper()
	root, err := pack.FindRoot(".")
	require.NoError(t, err)
	release, err := bundle.ReadRelease(os.DirFS(root))
	require.NoError(t, err)
	return writer{root: root, release: release, platforms: []v1.Platform{{OS: "linux", Architecture: "amd64"}}}
}

func made(t *testing.T, w writer) (string, images) {
	t.Helper()
	folder := t.TempDir()
	built, err := w.images(t.Context(), filepath.Join(folder, "images"))
	require.NoError(t, err)
	require.NoError(t, w.write(t.Context(), folder, built))
	return folder, built
}

// Everything is made once and looked at from all sides, since it takes a while.
func TestTheRelease(t *testing.T) {
	w := newWriter(t)
	folder, built := made(t, w)
	t.Run("has all parts", func(t *testing.T) { assertParts(t, w, folder, built) })
	t.Run("tells what its programs were built from", func(t *testing.T) { assertMaterials(t, w, folder, built) })
	// Anybody can check a release by making it again.
	t.Run("has the same bytes each time", func(t *testing.T) {
		again, _ := made(t, w)
		assert.Equal(t, text(t, folder, "SHA256SUMS"), text(t, again, "SHA256SUMS"))
	})
}

func assertParts(t *testing.T, w writer, folder string, built images) {
	t.Helper()
	operator := "community-operators/operators/loom-operator/"
	version := operator + w.release.Version + "/"
	wanted := []string{
		"RELEASE_NOTES.md", "SHA256SUMS", "crd.yaml", "install.yaml", "install-namespaced.yaml", "catalog/loom-operator/catalog.yaml",
		"images/loom-operator.tar", "images/loom-agent.tar", "images/loom-scorecard.tar", "images/loom-operator-bundle.tar",
		"sbom/loom-operator.cdx.json", "sbom/loom-agent.cdx.json", "sbom/loom-scorecard.cdx.json",
		operator + "ci.yaml", operator + "catalog-templates/semver.yaml", version + "release-config.yaml",
	}
	for _, file := range files(t, filepath.Join(w.root, "bundle")) {
		wanted = append(wanted, version+file)
	}
	assert.ElementsMatch(t, wanted, files(t, folder))

	submitted, err := manifests.GetBundleFromDir(filepath.Join(folder, version))
	require.NoError(t, err)
	assert.Equal(t, "loom-operator.v"+w.release.Version, submitted.CSV.Name)

	check := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = folder
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Len(t, strings.Split(strings.TrimSpace(text(t, folder, "SHA256SUMS")), "\n"), len(wanted)-1)

	for _, file := range []string{"install.yaml", "install-namespaced.yaml"} {
		assert.Contains(t, text(t, folder, file), "image: "+pinned(built.operator))
		assert.Contains(t, text(t, folder, file), "value: "+pinned(built.agent))
		assert.NotContains(t, text(t, folder, file), ":dev")
	}
	notes := text(t, folder, "RELEASE_NOTES.md")
	for _, archive := range built.all() {
		assert.Contains(t, notes, pinned(archive))
	}
	rendered := text(t, folder, "catalog/loom-operator/catalog.yaml")
	assert.Equal(t, 2, strings.Count(rendered, "image: "+pinned(built.bundle)+"\n"), "the bundle, and among its related images")
	assert.NotContains(t, rendered, built.bundle.Reference)
}

func assertMaterials(t *testing.T, w writer, folder string, built images) {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "sbom", "loom-operator.cdx.json"))
	require.NoError(t, err)
	defer file.Close()
	var materials cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(&materials))

	assert.Equal(t, pinned(built.operator), materials.Metadata.Component.BOMRef)
	found := map[string]string{}
	for _, component := range *materials.Components {
		found[component.Name] = component.Version
		assert.NotContains(t, component.PackageURL, "devel", component.Name)
	}
	assert.Equal(t, "v"+w.release.Version, found["github.com/beyond10x/loom-operator"])
	assert.NotEmpty(t, found["std"])
	assert.NotEmpty(t, found["sigs.k8s.io/controller-runtime"])
	assert.Empty(t, found["github.com/stretchr/testify"], "what only tests use is not in the image")
	require.Len(t, *materials.Dependencies, 1)
	assert.Len(t, *(*materials.Dependencies)[0].Dependencies, len(found))
}

func TestABundleOfOtherImagesIsNotReleased(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	archive := func(name, digest string) pack.Archive {
		return pack.Archive{Reference: "ghcr.io/beyond10x/" + name + ":0.1.0", Digest: digest}
	}
	built := images{operator: archive("loom-operator", digest), agent: archive("loom-agent", digest), scorecard: archive("loom-scorecard", digest)}
	named := bundle.Images{Operator: pinned(built.operator), Agent: pinned(built.agent), Scorecard: pinned(built.scorecard)}
	require.NoError(t, agree(named, built))

	built.agent.Digest = "sha256:" + strings.Repeat("1", 64)
	err := agree(named, built)
	assert.ErrorContains(t, err, "the bundle names "+named.Agent+", but this source makes ghcr.io/beyond10x/loom-agent@sha256:1")
	assert.ErrorContains(t, err, "run make bundle, commit, and try again")
}

// The template belongs to the pipeline once the first version was submitted.
func TestALaterSubmissionLeavesTheTemplateAlone(t *testing.T) {
	w := newWriter(t)
	w.release.Replaces = "0.0.9"
	folder := t.TempDir()
	require.NoError(t, w.submission(t.Context(), folder, images{}))
	for _, file := range files(t, folder) {
		assert.NotContains(t, file, "catalog-templates")
	}
}

func TestAReleaseNeedsNotes(t *testing.T) {
	w := newWriter(t)
	w.release.Version = "99.0.0"
	assert.ErrorContains(t, w.notes(t.Context(), t.TempDir(), images{}), "write docs/releases/99.0.0.md first")
}

func TestAReleaseThatFailsLeavesTheFormerOne(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, replace(folder, func(fresh string) error { return write(filepath.Join(fresh, "one"), nil) }))
	require.NoError(t, replace(folder, func(fresh string) error { return write(filepath.Join(fresh, "two"), nil) }))
	assert.Equal(t, []string{"two"}, files(t, folder))

	broken := errors.New("broken")
	require.ErrorIs(t, replace(folder, func(string) error { return broken }), broken)
	assert.Equal(t, []string{"two"}, files(t, folder))
	entries, err := os.ReadDir(filepath.Dir(folder))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestUsageIsExplained(t *testing.T) {
	var out strings.Builder
	assert.Error(t, run(t.Context(), []string{"--push"}, &out))
	assert.Contains(t, out.String(), "usage: release")
}

func files(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, name)
		}
		return err
	}))
	return found
}

func text(t *testing.T, folder, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, file))
	require.NoError(t, err)
	return string(content)
}

package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/catalog"
)

const (
	root   = "../../"
	images = "ghcr.io/beyond10x/loom-operator-bundle:v"
)

// The catalog of the committed template has this version in both channels.
func TestTheTemplateOfTheRepositoryIsACatalog(t *testing.T) {
	template, err := os.Open(root + "config/catalog/template.yaml")
	require.NoError(t, err)
	defer template.Close()
	release, err := bundle.ReadRelease(os.DirFS(root))
	require.NoError(t, err)

	rendered, err := catalog.Render(t.Context(), template, folders(map[string]string{images + release.Version: root + "bundle"}))
	require.NoError(t, err)

	require.Len(t, rendered.Packages, 1)
	assert.Equal(t, "loom-operator", rendered.Packages[0].Name)
	assert.Equal(t, "stable-v0", rendered.Packages[0].DefaultChannel)
	assert.Equal(t, "image/svg+xml", rendered.Packages[0].Icon.MediaType)
	assert.Contains(t, rendered.Packages[0].Description, "Loom Operator runs AI agents")
	entry := []declcfg.ChannelEntry{{Name: "loom-operator.v" + release.Version}}
	assert.Equal(t, map[string][]declcfg.ChannelEntry{"candidate-v0": entry, "stable-v0": entry}, edges(rendered))
	require.Len(t, rendered.Bundles, 1)
	for _, p := range rendered.Bundles[0].Properties {
		assert.NotEqual(t, property.TypeBundleObject, p.Type, "catalogs of OpenShift 4.17 and later refuse it")
	}
	var related []string
	for _, image := range rendered.Bundles[0].RelatedImages {
		related = append(related, image.Image)
	}
	assert.ElementsMatch(t, []string{images + release.Version, release.Images.Operator, release.Images.Agent}, related, "what a mirror copies")
}

// The line of versions: a patch skips, a minor version replaces, and a range
// lets in whoever has an earlier patch.
func TestVersionsUpgradeToTheNext(t *testing.T) {
	rendered := next(t)
	stable := []declcfg.ChannelEntry{
		{Name: "loom-operator.v0.1.0"},
		{Name: "loom-operator.v0.1.1", Skips: []string{"loom-operator.v0.1.0"}, SkipRange: ">=0.1.0 <0.1.1"},
	}
	candidate := append(stable[:2:2], declcfg.ChannelEntry{
		Name: "loom-operator.v0.2.0", Replaces: "loom-operator.v0.1.1", Skips: []string{"loom-operator.v0.1.0"}, SkipRange: ">=0.1.0 <0.2.0",
	})
	assert.Equal(t, map[string][]declcfg.ChannelEntry{"candidate-v0": candidate, "stable-v0": stable}, edges(rendered))
	assert.Equal(t, "stable-v0", rendered.Packages[0].DefaultChannel)
}

func TestACatalogThatWouldNotWorkIsNotRendered(t *testing.T) {
	known := folders(map[string]string{images + "0.1.0": root + "bundle", images + "0.1.1": root + "bundle"})
	for name, test := range map[string]struct{ template, want string }{
		"a bundle is not at hand":        {template("0.1.0,0.9.0", "0.1.0"), "find the bundle " + images + "0.9.0"},
		"a bundle is there twice":        {template("0.1.0,0.1.1", "0.1.0"), "loom-operator.v0.1.0"},
		"no version is listed":           {"Schema: olm.semver\n", "no bundles specified"},
		"a key is misspelled":            {"Schema: olm.semver\nBeta: {}\n", `unknown field "Beta"`},
		"the schema is another template": {"Schema: olm.template.basic\n", "unknown schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := catalog.Render(t.Context(), strings.NewReader(test.template), known)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// next is a catalog of this version and of two that could follow it.
func next(t *testing.T) *declcfg.DeclarativeConfig {
	t.Helper()
	source := repository(t)
	bundles := map[string]string{}
	for _, version := range []string{"0.1.0", "0.1.1", "0.2.0"} {
		bundles[images+version] = build(t, source, version)
	}
	rendered, err := catalog.Render(t.Context(), strings.NewReader(template("0.1.0,0.1.1,0.2.0", "0.1.0,0.1.1")), folders(bundles))
	require.NoError(t, err)
	return rendered
}

// repository is a copy of what the bundle is built from, to record releases in.
func repository(t *testing.T) fstest.MapFS {
	t.Helper()
	source := fstest.MapFS{}
	for _, file := range glob(t, root+"config/*/*", root+"config/samples/*/*") {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		source[strings.TrimPrefix(file, root)] = &fstest.MapFile{Data: content}
	}
	return source
}

func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				files = append(files, file)
			}
		}
	}
	return files
}

// build records a version as make bundle does, and writes its bundle.
func build(t *testing.T, source fstest.MapFS, version string) string {
	t.Helper()
	former, err := bundle.ReadRelease(source)
	require.NoError(t, err)
	var lines strings.Builder
	for _, name := range []string{"operator", "agent", "scorecard"} {
		fmt.Fprintf(&lines, "x.tar\tghcr.io/beyond10x/loom-%s:%s\tsha256:%064x\n", name, version, len(version)+len(name))
	}
	recorded, err := bundle.Record(bundle.Release{Version: version, Created: "2026-12-01T00:00:00Z", Platforms: former.Platforms}, former, strings.NewReader(lines.String()))
	require.NoError(t, err)
	source[bundle.ReleaseFile] = &fstest.MapFile{Data: recorded}
	files, err := bundle.Files(source)
	require.NoError(t, err)
	folder := t.TempDir()
	for name, content := range files {
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, content, 0o600))
	}
	return filepath.Join(folder, bundle.Folder)
}

// template has versions, separated by commas, in its two channels.
func template(candidate, stable string) string {
	text := "Schema: olm.semver\nGenerateMajorChannels: true\n"
	for channel, versions := range map[string]string{"Candidate": candidate, "Stable": stable} {
		text += channel + ":\n  Bundles:\n"
		for version := range strings.SplitSeq(versions, ",") {
			text += "  - Image: " + images + version + "\n"
		}
	}
	return text
}

func folders(known map[string]string) catalog.Folder {
	return func(_ context.Context, image string) (string, error) {
		if folder := known[image]; folder != "" {
			return folder, nil
		}
		return "", errors.New("it is not here")
	}
}

func edges(rendered *declcfg.DeclarativeConfig) map[string][]declcfg.ChannelEntry {
	found := map[string][]declcfg.ChannelEntry{}
	for _, channel := range rendered.Channels {
		found[channel.Name] = channel.Entries
	}
	return found
}

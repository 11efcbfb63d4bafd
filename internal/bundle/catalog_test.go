package bundle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bundles are the entries of a kind of channel in a semver template.
type bundles struct {
	Bundles []struct {
		Image string `json:"Image"`
	} `json:"Bundles"`
}

// Template and annotations name the same channels, and the template has the
// bundle of this version.
func TestTheCatalogHasTheChannelsOfTheBundle(t *testing.T) {
	template := read[struct {
		Schema                string  `json:"Schema"`
		GenerateMajorChannels bool    `json:"GenerateMajorChannels"`
		GenerateMinorChannels bool    `json:"GenerateMinorChannels"`
		Candidate             bundles `json:"Candidate"`
		Stable                bundles `json:"Stable"`
	}](t, "config/catalog/template.yaml")
	assert.Equal(t, "olm.semver", template.Schema)
	assert.True(t, template.GenerateMajorChannels)
	assert.False(t, template.GenerateMinorChannels)

	released := version(t).Spec.Version
	var channels []string
	for kind, entries := range map[string]bundles{"candidate": template.Candidate, "stable": template.Stable} {
		channels = append(channels, fmt.Sprintf("%s-v%d", kind, released.Major))
		require.NotEmpty(t, entries.Bundles)
		assert.True(t, strings.HasSuffix(entries.Bundles[len(entries.Bundles)-1].Image, ":v"+released.String()), "the newest is this version's")
	}
	annotated := read[annotations](t, "bundle/metadata/annotations.yaml").Annotations
	assert.ElementsMatch(t, strings.Split(annotated["operators.operatorframework.io.bundle.channels.v1"], ","), channels)
}

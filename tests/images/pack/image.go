package pack

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of everything in an image, so that the same source always
// has the same digest.
var epoch = time.Unix(0, 0).UTC()

// image packs one program, compiled for one platform, into an image that holds
// nothing else.
func (p Program) image(binary []byte, version string, platform v1.Platform) (v1.Image, error) {
	layer, err := layerOf(file{name: p.name, mode: 0o755, content: binary})
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.name, err)
	}
	return assemble(p.Config(version), layer, "COPY "+p.name+" /", platform)
}

// assemble makes an image of one layer. How the layer came about is for those
// who look at the image's history.
func assemble(config v1.Config, layer v1.Layer, how string, platform v1.Platform) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Created:      v1.Time{Time: epoch},
		Config:       config,
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("describing an image: %w", err)
	}
	packed, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: how},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer to an image: %w", err)
	}
	return packed, nil
}

// index gathers the images of all platforms under one digest.
func index(images []v1.Image, platforms []v1.Platform) v1.ImageIndex {
	var gathered v1.ImageIndex = empty.Index
	for i, image := range images {
		gathered = mutate.AppendManifests(gathered, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &platforms[i]},
		})
	}
	return gathered
}

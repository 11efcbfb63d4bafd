package pack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of everything in an image, so that the same source always
// has the same digest.
var epoch = time.Unix(0, 0).UTC()

// image packs one program, compiled for one platform, into an image that holds
// nothing else.
func (p Program) image(binary []byte, release Release, platform v1.Platform) (v1.Image, error) {
	layer, err := oneFile(p.name, binary)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.name, err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Created:      v1.Time{Time: epoch},
		Config:       p.Config(release),
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("describing the image of %s: %w", p.name, err)
	}
	packed, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "COPY " + p.name + " /"},
	})
	if err != nil {
		return nil, fmt.Errorf("adding %s to its image: %w", p.name, err)
	}
	return packed, nil
}

// oneFile is a layer with one program in its root, owned by root and writable
// by nobody else.
func oneFile(name string, content []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o755, ModTime: epoch, Format: tar.FormatPAX,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
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

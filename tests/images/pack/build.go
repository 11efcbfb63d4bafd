package pack

import (
	"context"
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say what to build and where to put it.
type Options struct {
	Root      string // of the repository, as FindRoot returns it
	Output    string // folder of the archives; made when missing
	Release   Release
	Platforms []v1.Platform // at least one
}

// Archive is an image that was built.
type Archive struct {
	Path      string // NAME.tar in the output folder
	Reference string // the image's full name
	Digest    string // of the index of its platforms, as sha256:HEX
}

// Build compiles a program for each platform and writes its image. The same
// source, version, revision and Go release give the same digest.
func Build(ctx context.Context, program Program, options Options) (Archive, error) {
	images := make([]v1.Image, 0, len(options.Platforms))
	for _, platform := range options.Platforms {
		binary, err := program.compile(ctx, options.Root, options.Release, platform)
		if err != nil {
			return Archive{}, err
		}
		image, err := program.image(binary, options.Release, platform)
		if err != nil {
			return Archive{}, err
		}
		images = append(images, image)
	}
	gathered := index(images, options.Platforms)
	digest, err := gathered.Digest()
	if err != nil {
		return Archive{}, fmt.Errorf("reading the digest of %s: %w", program.name, err)
	}
	built := Archive{
		Path:      filepath.Join(options.Output, program.name+".tar"),
		Reference: program.Reference(options.Release.Version),
		Digest:    digest.String(),
	}
	return built, WriteArchive(built.Path, built.Reference, gathered)
}

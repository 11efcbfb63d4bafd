package pack

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"runtime/debug"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say what to build and where to put it.
type Options struct {
	Root      string        // of the repository, as FindRoot returns it
	Output    string        // folder of the archives; made when missing
	Version   string        // of the program and tag of the image
	Platforms []v1.Platform // at least one
}

// Archive is an image that was built.
type Archive struct {
	Path      string // NAME.tar in the output folder
	Reference string // the image's full name, by tag
	Digest    string // of the index of its platforms, as sha256:HEX
	// Builds tell what the program of each platform was built from; none when
	// the image holds no program.
	Builds []*debug.BuildInfo
}

// Build compiles a program for each platform and writes its image. The same
// source, version and Go release give the same digest.
func Build(ctx context.Context, program Program, options Options) (Archive, error) {
	images := make([]v1.Image, 0, len(options.Platforms))
	var builds []*debug.BuildInfo
	for _, platform := range options.Platforms {
		binary, err := program.compile(ctx, options.Root, options.Version, platform)
		if err != nil {
			return Archive{}, err
		}
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return Archive{}, fmt.Errorf("reading what %s was built from: %w", program.name, err)
		}
		image, err := program.image(binary, options.Version, platform)
		if err != nil {
			return Archive{}, err
		}
		images, builds = append(images, image), append(builds, info)
	}
	built, err := write(program.name, program.Reference(options.Version), images, options)
	built.Builds = builds
	return built, err
}

// write writes the images of all platforms as one archive.
func write(name, reference string, images []v1.Image, options Options) (Archive, error) {
	gathered := index(images, options.Platforms)
	digest, err := gathered.Digest()
	if err != nil {
		return Archive{}, fmt.Errorf("reading the digest of %s: %w", name, err)
	}
	built := Archive{Path: filepath.Join(options.Output, name+".tar"), Reference: reference, Digest: digest.String()}
	return built, WriteArchive(built.Path, built.Reference, gathered)
}

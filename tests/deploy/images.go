package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/beyond10x/loom-operator/tests/images/pack"
)

// Version is that of programs built from a working tree, and the tag of their
// images.
const Version = "dev"

// Image is an image by its name. Digest is known of those that were built
// here.
type Image struct{ Reference, Digest string }

// Images are the two images of this project.
type Images struct{ Operator, Agent Image }

// Build builds both images and loads them into the nodes.
func (c Cluster) Build(ctx context.Context) (Images, error) {
	operator, err := c.BuildImage(ctx, "operator", Version)
	if err != nil {
		return Images{}, err
	}
	agent, err := c.BuildImage(ctx, "agent", Version)
	return Images{Operator: operator, Agent: agent}, err
}

// BuildImage builds one image, such as operator, under a tag and loads it into
// the nodes.
func (c Cluster) BuildImage(ctx context.Context, name, tag string) (Image, error) {
	if c.load == nil {
		return Image{}, errors.New("images that are built here cannot be loaded into this cluster: push them to a registry that its nodes reach")
	}
	program, err := pack.Find(name)
	if err != nil {
		return Image{}, err
	}
	platforms, err := pack.ParsePlatforms("linux/" + runtime.GOARCH)
	if err != nil {
		return Image{}, err
	}
	built, err := pack.Build(ctx, program, pack.Options{
		Root: c.root, Output: filepath.Join(c.root, ".cache", "images", tag), Platforms: platforms,
		Version: tag,
	})
	if err != nil {
		return Image{}, fmt.Errorf("build the image of the %s: %w", name, err)
	}
	if err := c.load(ctx, built.Path); err != nil {
		return Image{}, fmt.Errorf("load %s into the nodes: %w", built.Reference, err)
	}
	return Image{Reference: built.Reference, Digest: built.Digest}, nil
}

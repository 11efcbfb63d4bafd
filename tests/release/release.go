package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/beyond10x/loom-operator/internal/bundle"
	"github.com/beyond10x/loom-operator/tests/catalog"
	"github.com/beyond10x/loom-operator/tests/images/pack"
)

// writer writes the parts of a release.
type writer struct {
	root      string // of the repository
	release   bundle.Release
	platforms []v1.Platform
}

// images are the archives of a release, by the short name of their programs.
type images struct {
	operator, agent, scorecard, bundle pack.Archive
}

func (i images) all() []pack.Archive {
	return []pack.Archive{i.operator, i.agent, i.scorecard, i.bundle}
}

// images builds the images into a folder.
func (w writer) images(ctx context.Context, folder string) (images, error) {
	var built images
	options := pack.Options{Root: w.root, Output: folder, Version: w.release.Version, Platforms: w.platforms}
	for name, archive := range map[string]*pack.Archive{"operator": &built.operator, "agent": &built.agent, "scorecard": &built.scorecard} {
		program, err := pack.Find(name)
		if err != nil {
			return images{}, err
		}
		if *archive, err = pack.Build(ctx, program, options); err != nil {
			return images{}, fmt.Errorf("build the image of the %s: %w", name, err)
		}
	}
	var err error
	if built.bundle, err = pack.BuildBundle(options); err != nil {
		return images{}, fmt.Errorf("build the image of the bundle: %w", err)
	}
	return built, nil
}

// agree is an error when the bundle names other images than were built: it
// would install what nobody can build again.
func agree(named bundle.Images, built images) error {
	var found []error
	for name, archive := range map[string]pack.Archive{named.Operator: built.operator, named.Agent: built.agent, named.Scorecard: built.scorecard} {
		if want := pinned(archive); name != want {
			found = append(found, fmt.Errorf("the bundle names %s, but this source makes %s", name, want))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.Join(append(found, errors.New("run make bundle, commit, and try again"))...)
}

// pinned is the name of an image by digest.
func pinned(archive pack.Archive) string {
	return archive.Reference[:strings.LastIndex(archive.Reference, ":")] + "@" + archive.Digest
}

// write writes everything but the images.
func (w writer) write(ctx context.Context, folder string, built images) error {
	for _, part := range []func(context.Context, string, images) error{w.submission, w.catalog, w.manifests, w.contents, w.notes} {
		if err := part(ctx, folder, built); err != nil {
			return err
		}
	}
	return checksums(folder)
}

// submission is the folder of a pull request to community-operators. The
// template is part of the first one only: later it is the pipeline's.
func (w writer) submission(_ context.Context, folder string, _ images) error {
	operator := filepath.Join(folder, "community-operators", "operators", bundle.Package)
	version := filepath.Join(operator, w.release.Version)
	if err := os.CopyFS(version, os.DirFS(filepath.Join(w.root, bundle.Folder))); err != nil {
		return fmt.Errorf("copy the bundle: %w", err)
	}
	files := map[string]string{"ci.yaml": filepath.Join(operator, "ci.yaml"), "release-config.yaml": filepath.Join(version, "release-config.yaml")}
	if w.release.Replaces == "" {
		files["community.yaml"] = filepath.Join(operator, "catalog-templates", "semver.yaml")
	}
	for from, to := range files {
		text, err := os.ReadFile(filepath.Join(w.root, "config", "catalog", from))
		if err != nil {
			return fmt.Errorf("copy a file of the submission: %w", err)
		}
		if err := write(to, text); err != nil {
			return err
		}
	}
	return nil
}

// pin names a bundle's image by digest, as all other images are: a mirror of
// digests then serves it too, and a node that has it does not pull it.
func pin(rendered *declcfg.DeclarativeConfig, built pack.Archive) {
	for i := range rendered.Bundles {
		b := &rendered.Bundles[i]
		if b.Image != built.Reference {
			continue
		}
		b.Image = pinned(built)
		for j := range b.RelatedImages {
			if b.RelatedImages[j].Image == built.Reference {
				b.RelatedImages[j].Image = b.Image
			}
		}
	}
}

// catalog is the rendered catalog of this project, for `opm serve` or an image.
func (w writer) catalog(ctx context.Context, folder string, built images) (err error) {
	template, err := os.Open(filepath.Join(w.root, "config", "catalog", "template.yaml"))
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	defer func() { err = errors.Join(err, template.Close()) }()
	pulled, err := os.MkdirTemp("", "loom-bundles-")
	if err != nil {
		return fmt.Errorf("make a folder for bundles: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(pulled)) }()
	rendered, err := catalog.Render(ctx, template, func(ctx context.Context, image string) (string, error) {
		if image == built.bundle.Reference {
			return filepath.Join(w.root, bundle.Folder), nil
		}
		former, err := os.MkdirTemp(pulled, "")
		if err != nil {
			return "", err
		}
		return former, catalog.Pull(ctx, image, former)
	})
	if err != nil {
		return err
	}
	pin(rendered, built.bundle)
	var text strings.Builder
	if err := declcfg.WriteYAML(*rendered, &text); err != nil {
		return fmt.Errorf("write the catalog: %w", err)
	}
	return write(filepath.Join(folder, "catalog", bundle.Package, "catalog.yaml"), []byte(text.String()))
}

func write(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", filepath.Base(file), err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return nil
}

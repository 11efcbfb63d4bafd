// Package catalog renders the file-based catalog of the operator out of its
// semver template, as `opm alpha render-template semver` does, without a
// registry for bundles whose folders are at hand:
// https://olm.operatorframework.io/docs/reference/catalog-templates/.
package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/semver"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"
)

// skipRangeAnnotation of a ClusterServiceVersion names the versions that may be
// upgraded to it at once.
const skipRangeAnnotation = "olm.skipRange"

// Folder finds the folder of a bundle by the image that the template names.
type Folder func(ctx context.Context, image string) (string, error)

// Render renders a template. The result has what catalogs for OLM of any
// version may have: the metadata of the bundles and not their manifests, which
// are in the images. It is validated as opm validates a catalog. Beside what
// the template says, a version that can be upgraded to has the bounded range
// of its ClusterServiceVersion.
func Render(ctx context.Context, template io.Reader, folder Folder) (*declcfg.DeclarativeConfig, error) {
	ranges := map[string]string{}
	render := func(ctx context.Context, reference string) (*declcfg.DeclarativeConfig, error) {
		path, err := folder(ctx, reference)
		if err != nil {
			return nil, fmt.Errorf("find the bundle %s: %w", reference, err)
		}
		blob, csv, err := renderBundle(path, reference)
		if err != nil {
			return nil, fmt.Errorf("render the bundle %s: %w", reference, err)
		}
		ranges[csv.Name] = csv.Annotations[skipRangeAnnotation]
		return &declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{*blob}}, nil
	}
	rendered, err := (&semver.Factory{}).CreateTemplate(render).Render(ctx, template)
	if err != nil {
		return nil, fmt.Errorf("render the template: %w", err)
	}
	for _, channel := range rendered.Channels {
		for i, entry := range channel.Entries {
			if entry.Replaces != "" || len(entry.Skips) > 0 {
				channel.Entries[i].SkipRange = ranges[entry.Name]
			}
		}
	}
	slices.SortFunc(rendered.Bundles, func(a, b declcfg.Bundle) int { return strings.Compare(a.Name, b.Name) })
	if err := migrate(rendered); err != nil {
		return nil, err
	}
	if _, err := declcfg.ConvertToModel(*rendered); err != nil {
		return nil, fmt.Errorf("validate the catalog: %w", err)
	}
	return rendered, nil
}

// renderBundle renders one bundle, as `opm render` does.
func renderBundle(folder, reference string) (*declcfg.Bundle, v1alpha1.ClusterServiceVersion, error) {
	var csv v1alpha1.ClusterServiceVersion
	input, err := registry.NewImageInput(image.SimpleReference(reference), folder)
	if err != nil {
		return nil, csv, err
	}
	objects, properties, err := registry.ObjectsAndPropertiesFromBundle(input.Bundle)
	if err != nil {
		return nil, csv, err
	}
	i := slices.IndexFunc(objects, func(object string) bool {
		return strings.Contains(object, `"kind":"`+v1alpha1.ClusterServiceVersionKind+`"`)
	})
	if i < 0 {
		return nil, csv, fmt.Errorf("it has no %s", v1alpha1.ClusterServiceVersionKind)
	}
	if err := json.Unmarshal([]byte(objects[i]), &csv); err != nil {
		return nil, csv, err
	}
	related := []declcfg.RelatedImage{{Image: reference}}
	for _, r := range csv.Spec.RelatedImages {
		related = append(related, declcfg.RelatedImage{Name: r.Name, Image: r.Image})
	}
	slices.SortFunc(related, func(a, b declcfg.RelatedImage) int { return strings.Compare(a.Image, b.Image) })
	return &declcfg.Bundle{
		Schema: declcfg.SchemaBundle, Name: input.Bundle.Name, Package: input.Bundle.Package, Image: reference,
		Properties: properties, RelatedImages: related, Objects: objects, CsvJSON: objects[i],
	}, csv, nil
}

// migrate replaces manifests by their metadata. Catalogs for OpenShift 4.17 and
// later must not hold manifests.
func migrate(rendered *declcfg.DeclarativeConfig) error {
	all, err := migrations.NewMigrations(migrations.AllMigrations)
	if err != nil {
		return err
	}
	if err := all.Migrate(rendered); err != nil {
		return fmt.Errorf("replace manifests by their metadata: %w", err)
	}
	return nil
}

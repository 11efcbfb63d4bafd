package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/beyond10x/loom-operator/tests/images/pack"
)

// contents are the software bills of materials of the images that hold a
// program: what Go wrote into the program about the modules it was built from.
func (w writer) contents(_ context.Context, folder string, built images) error {
	for _, archive := range built.all() {
		if len(archive.Builds) == 0 {
			continue
		}
		var text bytes.Buffer
		if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(w.materials(archive)); err != nil {
			return fmt.Errorf("write what is in %s: %w", archive.Reference, err)
		}
		name := strings.TrimSuffix(filepath.Base(archive.Path), ".tar")
		if err := write(filepath.Join(folder, "sbom", name+".cdx.json"), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// materials lists the modules of all platforms, and Go's own library.
func (w writer) materials(archive pack.Archive) *cdx.BOM {
	image := cdx.Component{
		Type: cdx.ComponentTypeContainer, Name: archive.Reference[:strings.LastIndex(archive.Reference, ":")], Version: w.release.Version,
		BOMRef: pinned(archive), PackageURL: packageURL(archive),
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: strings.TrimPrefix(archive.Digest, "sha256:")}},
	}
	found := map[string]cdx.Component{}
	for _, build := range archive.Builds {
		add(found, "std", strings.TrimPrefix(build.GoVersion, "go"))
		add(found, build.Main.Path, w.versionOf(&build.Main))
		for _, module := range build.Deps {
			if module.Replace != nil && module.Replace.Version != "" {
				module = module.Replace
			}
			add(found, module.Path, w.versionOf(module))
		}
	}
	var components []cdx.Component
	var references []string
	for _, reference := range slices.Sorted(maps.Keys(found)) {
		components, references = append(components, found[reference]), append(references, reference)
	}
	materials := cdx.NewBOM()
	materials.Metadata = &cdx.Metadata{Component: &image}
	materials.Components = &components
	materials.Dependencies = &[]cdx.Dependency{{Ref: image.BOMRef, Dependencies: &references}}
	return materials
}

func add(to map[string]cdx.Component, path, version string) {
	reference := "pkg:golang/" + path + "@" + version
	to[reference] = cdx.Component{Type: cdx.ComponentTypeLibrary, Name: path, Version: version, BOMRef: reference, PackageURL: reference}
}

// versionOf is the module's version. The modules of this repository have that
// of the release, and Go knows none.
func (w writer) versionOf(module *debug.Module) string {
	if module.Version == "" || module.Version == "(devel)" || module.Replace != nil {
		return "v" + w.release.Version
	}
	return module.Version
}

// packageURL names an image as https://github.com/package-url/purl-spec does.
func packageURL(archive pack.Archive) string {
	repository := archive.Reference[:strings.LastIndex(archive.Reference, ":")]
	return "pkg:oci/" + filepath.Base(repository) + "@" + strings.Replace(archive.Digest, ":", "%3A", 1) + "?repository_url=" + repository
}

package pack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// bundleName is that of the image and its archive.
const bundleName = "loom-operator-bundle"

// BundleReference is the full name of the bundle's image.
func BundleReference(version string) string { return registry + "/" + bundleName + ":v" + version }

// BuildBundle writes the image of the bundle in the folder bundle, as
// bundle.Dockerfile describes it: the folder as it is, and its annotations as
// labels. It holds no program, but a mirror wants an image of each platform.
func BuildBundle(options Options) (Archive, error) {
	folder := filepath.Join(options.Root, "bundle")
	labels, err := bundleLabels(folder)
	if err != nil {
		return Archive{}, err
	}
	files, err := filesBelow(folder)
	if err != nil {
		return Archive{}, fmt.Errorf("reading the bundle: %w", err)
	}
	layer, err := layerOf(files...)
	if err != nil {
		return Archive{}, fmt.Errorf("packing the bundle: %w", err)
	}
	images := make([]v1.Image, 0, len(options.Platforms))
	for _, platform := range options.Platforms {
		image, err := assemble(v1.Config{Labels: labels}, layer, "COPY bundle /", platform)
		if err != nil {
			return Archive{}, err
		}
		images = append(images, image)
	}
	return write(bundleName, BundleReference(options.Version), images, options)
}

func bundleLabels(folder string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "metadata", "annotations.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the annotations of the bundle: %w", err)
	}
	var listed struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.UnmarshalStrict(text, &listed); err != nil {
		return nil, fmt.Errorf("reading the annotations of the bundle: %w", err)
	}
	return listed.Annotations, nil
}

// filesBelow reads the files below a folder in the order of their names.
func filesBelow(folder string) ([]file, error) {
	var files []file
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		files = append(files, file{name: name, mode: 0o644, content: content})
		return err
	})
	return files, err
}

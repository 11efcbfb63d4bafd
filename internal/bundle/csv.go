package bundle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	csvFile         = "config/bundle/csv.yaml"
	descriptionFile = "config/bundle/description.md"
	iconFile        = "config/bundle/icon.svg"
	namespaceFile   = "config/manager/namespace.yaml"
)

// clusterServiceVersion completes the part that is written by hand.
func clusterServiceVersion(source fs.FS, access access) ([]byte, error) {
	csv, err := read[v1alpha1.ClusterServiceVersion](source, csvFile)
	if err != nil {
		return nil, err
	}
	release, err := ReadRelease(source)
	if err != nil {
		return nil, err
	}
	if err := release.stamp(&csv); err != nil {
		return nil, err
	}
	access.grant(&csv.Spec.InstallStrategy.StrategySpec)
	for _, complete := range []func(fs.FS, *v1alpha1.ClusterServiceVersion) error{install, describe, present, suggest} {
		if err := complete(source, &csv); err != nil {
			return nil, err
		}
	}
	if err := release.pin(&csv); err != nil {
		return nil, err
	}
	return write(csv)
}

// stamp gives the version its name, its time, its platforms and its place in
// the line of versions. Without the labels OLM takes amd64 for granted.
func (r Release) stamp(csv *v1alpha1.ClusterServiceVersion) error {
	csv.Name = Package + ".v" + r.Version
	csv.Labels = map[string]string{}
	for _, platform := range r.Platforms {
		system, architecture := split(platform)
		csv.Labels["operatorframework.io/os."+system] = "supported"
		csv.Labels["operatorframework.io/arch."+architecture] = "supported"
	}
	csv.Annotations["createdAt"] = r.Created
	csv.Annotations["containerImage"] = r.Images.Operator
	csv.Spec.Version = version.OperatorVersion{}
	if err := csv.Spec.Version.UnmarshalJSON([]byte(`"` + r.Version + `"`)); err != nil {
		return fmt.Errorf("%s: version: %w", ReleaseFile, err)
	}
	if r.Replaces != "" {
		skipped, err := r.skipRange()
		if err != nil {
			return err
		}
		csv.Spec.Replaces = Package + ".v" + r.Replaces
		csv.Annotations["olm.skipRange"] = skipped
	}
	csv.Spec.RelatedImages = []v1alpha1.RelatedImage{
		{Name: "loom-operator", Image: r.Images.Operator},
		{Name: "loom-agent", Image: r.Images.Agent},
	}
	return nil
}

// describe fills in what consoles show of the fields.
func describe(source fs.FS, csv *v1alpha1.ClusterServiceVersion) error {
	crd, err := read[apiextensionsv1.CustomResourceDefinition](source, crdFile)
	if err != nil {
		return err
	}
	for i := range csv.Spec.CustomResourceDefinitions.Owned {
		owned := &csv.Spec.CustomResourceDefinitions.Owned[i]
		schema, err := schemaOf(crd, owned.Version)
		if err != nil {
			return err
		}
		descriptors, err := readDescriptors(source, schema)
		if err != nil {
			return err
		}
		owned.SpecDescriptors, owned.StatusDescriptors = descriptors.spec(), descriptors.status()
	}
	return nil
}

// present fills in what a catalog shows.
func present(source fs.FS, csv *v1alpha1.ClusterServiceVersion) error {
	description, err := fs.ReadFile(source, descriptionFile)
	if err != nil {
		return err
	}
	icon, err := fs.ReadFile(source, iconFile)
	if err != nil {
		return err
	}
	csv.Spec.Description = string(description)
	csv.Spec.Icon = []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	return annotateExamples(source, csv.Annotations)
}

// suggest names the namespace to install in, with its Pod Security level.
func suggest(source fs.FS, csv *v1alpha1.ClusterServiceVersion) error {
	namespace, err := read[corev1.Namespace](source, namespaceFile)
	if err != nil {
		return err
	}
	template, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta:   namespace.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: namespace.Name, Labels: namespace.Labels},
	})
	if err != nil {
		return err
	}
	csv.Annotations["operatorframework.io/suggested-namespace"] = namespace.Name
	csv.Annotations["operatorframework.io/suggested-namespace-template"] = string(template)
	return nil
}

package scorecard

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// every validator that reads a bundle and pulls no images.
var every = validator.Validators{
	validation.BundleValidator, validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator,
	validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
	validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator, validation.ObjectValidator,
}

// everyValidator takes a warning for a fault: operator-sdk exits with 0 on one.
func everyValidator(s subject) (found []finding) {
	objects := s.ObjectsToValidate()
	for _, object := range s.Objects {
		objects = append(objects, object)
	}
	for _, result := range every.Validate(objects...) {
		for _, err := range append(result.Errors, result.Warnings...) {
			found = append(found, fault("%s", err.Error()))
		}
	}
	return found
}

// descriptorsComplete wants each top-level field described, whether an example
// has it or not.
func descriptorsComplete(s subject) (found []finding) {
	for _, owned := range s.CSV.Spec.CustomResourceDefinitions.Owned {
		described := map[string]bool{}
		for _, d := range owned.SpecDescriptors {
			described["spec."+d.Path] = true
		}
		for _, d := range owned.StatusDescriptors {
			described["status."+d.Path] = true
		}
		kind := unstructured.Unstructured{Object: map[string]any{"kind": owned.Kind, "apiVersion": "/" + owned.Version}}
		schema := schemaOf(s, kind)
		if schema == nil {
			found = append(found, fault("No CustomResourceDefinition describes %s %s.", owned.Kind, owned.Version))
			continue
		}
		for _, block := range []string{"spec", "status"} {
			for _, field := range slices.Sorted(maps.Keys(schema.Properties[block].Properties)) {
				if !described[block+"."+field] {
					found = append(found, fault("%s.%s has no descriptor.", block, field))
				}
			}
		}
	}
	return found
}

var pinned = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)

// imagesPinned wants every image by digest and in relatedImages: a mirror
// copies nothing else.
func imagesPinned(s subject) (found []finding) {
	used := map[string]string{"the annotation containerImage": s.CSV.Annotations["containerImage"]}
	for _, deployment := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := deployment.Spec.Template.Spec
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			used["container "+container.Name] = container.Image
			for _, variable := range relatedImages(container) {
				used["variable "+variable.Name] = variable.Value
			}
		}
	}
	listed := map[string]bool{}
	for _, image := range s.CSV.Spec.RelatedImages {
		listed[image.Image] = true
	}
	for _, where := range slices.Sorted(maps.Keys(used)) {
		switch image := used[where]; {
		case !pinned.MatchString(image):
			found = append(found, fault("The image of %s is %q, which is no reference by digest.", where, image))
		case !listed[image]:
			found = append(found, fault("The image of %s is %q, which relatedImages lacks.", where, image))
		}
	}
	return found
}

func relatedImages(container corev1.Container) []corev1.EnvVar {
	return slices.DeleteFunc(slices.Clone(container.Env), func(v corev1.EnvVar) bool { return !strings.HasPrefix(v.Name, "RELATED_IMAGE_") })
}

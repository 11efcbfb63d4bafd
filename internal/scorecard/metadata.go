package scorecard

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// installModes that the operator supports, each shown by a test.
var installModes = []v1alpha1.InstallModeType{
	v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeSingleNamespace,
	v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeAllNamespaces,
}

// metadataConsistent compares what the bundle says twice, and wants the
// annotations of the ClusterServiceVersion to be of the form that consoles and
// catalogs parse: they take anything else for absent.
func metadataConsistent(s subject) (found []finding) {
	annotations, err := annotationsOf(s.root)
	if err != nil {
		return []finding{fault("The annotations of the bundle cannot be read: %v.", err)}
	}
	name := annotations["operators.operatorframework.io.bundle.package.v1"]
	if want := name + ".v" + s.CSV.Spec.Version.String(); s.CSV.Name != want {
		found = append(found, fault("The ClusterServiceVersion is named %s; the package and version make it %s.", s.CSV.Name, want))
	}
	channels := strings.Split(annotations["operators.operatorframework.io.bundle.channels.v1"], ",")
	if channel := annotations["operators.operatorframework.io.bundle.channel.default.v1"]; !slices.Contains(channels, channel) {
		found = append(found, fault("The default channel %q is none of the channels %q.", channel, channels))
	}
	if config := filepath.Join(s.root, annotations["operators.operatorframework.io.test.config.v1"], "config.yaml"); !isFile(config) {
		found = append(found, fault("The annotations say that the configuration of scorecard is %s, which is no file.", config))
	}
	found = append(found, modes(s)...)
	return append(found, csvAnnotations(s)...)
}

func modes(s subject) (found []finding) {
	for _, mode := range installModes {
		supported := slices.Contains(s.CSV.Spec.InstallModes, v1alpha1.InstallMode{Type: mode, Supported: true})
		if !supported {
			found = append(found, fault("The install mode %s is not offered.", mode))
		}
	}
	return found
}

func csvAnnotations(s subject) (found []finding) {
	const features = "features.operators.openshift.io/"
	for _, key := range slices.Sorted(maps.Keys(s.CSV.Annotations)) {
		value := s.CSV.Annotations[key]
		if strings.HasPrefix(key, features) && value != "true" && value != "false" {
			found = append(found, fault("The annotation %s is %q; true or false is needed.", key, value))
		}
	}
	if created := s.CSV.Annotations["createdAt"]; !isTime(created) {
		found = append(found, fault("The annotation createdAt is %q; a time such as 2026-01-31T12:00:00Z is needed.", created))
	}
	for _, deployment := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			if image := s.CSV.Annotations["containerImage"]; container.Name == manager && container.Image != image {
				found = append(found, fault("The annotation containerImage is %s, and the operator runs %s.", image, container.Image))
			}
		}
	}
	return found
}

func annotationsOf(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "metadata", "annotations.yaml"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	err = yaml.Unmarshal(text, &file)
	return file.Annotations, err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

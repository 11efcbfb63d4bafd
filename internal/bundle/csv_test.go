package bundle_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/crds"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/internal/bundle"
)

// The API server of a cluster with OLM accepts it.
func TestTheVersionFitsTheSchemaOfOLM(t *testing.T) {
	definition := crds.ClusterServiceVersion().Spec.Versions[0]
	assert.Equal(t, v1alpha1.GroupVersion, definition.Name)
	assert.Empty(t, violations(t, definition.Schema.OpenAPIV3Schema, read[map[string]any](t, csvFile)))
}

func TestTheNamesFitEverywhere(t *testing.T) {
	csv := version(t)
	assert.Equal(t, bundle.Package+".v"+csv.Spec.Version.String(), csv.Name)
	assert.Empty(t, validation.IsDNS1123Subdomain(csv.Name))
	assert.Empty(t, validation.IsValidLabelValue(csv.Name), "OLM writes the name into labels")
	for _, deployment := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		assert.Empty(t, validation.IsDNS1123Label(deployment.Name))
	}
}

// OLM copies all annotations to the pod template, whose limit is 256 KiB.
func TestTheAnnotationsFitOnAPod(t *testing.T) {
	size := 0
	for key, value := range version(t).Annotations {
		size += len(key) + len(value)
	}
	assert.Less(t, size, 256<<10)
}

func TestTheAnnotationsHaveTheFormsThatConsolesRead(t *testing.T) {
	found := version(t).Annotations
	_, err := time.Parse(time.RFC3339, found["createdAt"])
	require.NoError(t, err, "createdAt")
	assert.LessOrEqual(t, len(found["description"]), 135, "a tile shows no more")
	assert.GreaterOrEqual(t, len(found["description"]), 20)
	for _, key := range []string{"repository", "support"} {
		assert.True(t, strings.HasPrefix(found[key], "https://"), key)
	}
	for _, key := range []string{"alm-examples-metadata", "operatorframework.io/initialization-resource",
		"operatorframework.io/suggested-namespace-template", "operators.openshift.io/valid-subscription"} {
		assert.True(t, json.Valid([]byte(found[key])), key)
	}
	features := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(key string) bool {
		return !strings.HasPrefix(key, "features.operators.openshift.io/")
	})
	assert.Len(t, features, 10)
	for _, key := range features {
		assert.Contains(t, []string{"true", "false"}, found[key], key)
	}
}

// Older versions of OpenShift would offer an operator that OLM then refuses.
// OpenShift 4.N has Kubernetes 1.(N+13).
func TestKubernetesAndOpenShiftAgree(t *testing.T) {
	kubernetes, err := semver.Parse(version(t).Spec.MinKubeVersion)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("v4.%d", kubernetes.Minor-13),
		read[annotations](t, "bundle/metadata/annotations.yaml").Annotations["com.redhat.openshift.versions"])
}

func TestEveryInstallModeIsSupported(t *testing.T) {
	modes := map[v1alpha1.InstallModeType]bool{}
	for _, mode := range version(t).Spec.InstallModes {
		modes[mode.Type] = mode.Supported
	}
	assert.Equal(t, map[v1alpha1.InstallModeType]bool{
		v1alpha1.InstallModeTypeOwnNamespace: true, v1alpha1.InstallModeTypeSingleNamespace: true,
		v1alpha1.InstallModeTypeMultiNamespace: true, v1alpha1.InstallModeTypeAllNamespaces: true,
	}, modes)
}

func TestTheIconIsASmallDrawing(t *testing.T) {
	icons := version(t).Spec.Icon
	require.Len(t, icons, 1)
	assert.Equal(t, "image/svg+xml", icons[0].MediaType)
	assert.Less(t, len(icons[0].Data), 4<<10)
	assert.NoError(t, xml.Unmarshal([]byte(text(t, "config/bundle/icon.svg")), new(struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	})))
}

var reference = regexp.MustCompile(`[a-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}`)

// A mirror copies what relatedImages lists, and nothing else.
func TestEveryImageIsPinnedAndListed(t *testing.T) {
	csv := version(t)
	var listed []string
	for _, image := range csv.Spec.RelatedImages {
		assert.Equal(t, image.Image, reference.FindString(image.Image), image.Name)
		listed = append(listed, image.Image)
	}
	assert.ElementsMatch(t, listed, distinct(reference.FindAllString(text(t, csvFile), -1)), "every reference in the file")
	pod := podOf(t, csv)
	assert.Empty(t, pod.InitContainers)
	require.Len(t, pod.Containers, 1)
	assert.Contains(t, listed, pod.Containers[0].Image)
	assert.Equal(t, pod.Containers[0].Image, csv.Annotations["containerImage"])
	assert.Contains(t, listed, variable(t, pod.Containers[0], "RELATED_IMAGE_LOOM_AGENT").Value)
	assert.NotRegexp(t, `ghcr\.io/[^@\s"]+:`, text(t, csvFile), "an image by tag")
}

func TestTheDeploymentIsTheOneOfConfig(t *testing.T) {
	csv := version(t)
	pod := podOf(t, csv)
	spec := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	manager := pod.Containers[0]
	assert.Equal(t, "manager", manager.Name)
	assert.Equal(t, new(int32(2)), spec.Replicas)
	assert.Contains(t, manager.Args, "--leader-elect")
	assert.Equal(t, "metadata.annotations['olm.targetNamespaces']", variable(t, manager, "WATCH_NAMESPACE").ValueFrom.FieldRef.FieldPath)
	for name, probe := range map[string]*corev1.Probe{"startup": manager.StartupProbe, "readiness": manager.ReadinessProbe, "liveness": manager.LivenessProbe} {
		assert.NotNil(t, probe, name)
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		assert.Contains(t, manager.Resources.Requests, resource)
	}
	assert.Contains(t, manager.Resources.Limits, corev1.ResourceMemory)
	assert.Equal(t, new(true), pod.SecurityContext.RunAsNonRoot)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	assert.Equal(t, new(false), manager.SecurityContext.AllowPrivilegeEscalation)
	assert.Equal(t, new(true), manager.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, []corev1.Capability{"ALL"}, manager.SecurityContext.Capabilities.Drop)
	assert.NotNil(t, pod.Affinity.PodAntiAffinity, "what config says besides is kept")
}

// Catalogs hide an operator from clusters that its labels do not name, and the
// scheduler keeps it off nodes that the image was not built for.
func TestTheNodesAreTheOnesOfTheLabels(t *testing.T) {
	csv := version(t)
	terms := podOf(t, csv).Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	require.Len(t, terms, 1)
	labels := map[string]string{}
	for _, expression := range terms[0].MatchExpressions {
		assert.Equal(t, corev1.NodeSelectorOpIn, expression.Operator)
		prefix := map[string]string{corev1.LabelArchStable: "arch", corev1.LabelOSStable: "os"}[expression.Key]
		require.NotEmpty(t, prefix, expression.Key)
		for _, value := range expression.Values {
			labels["operatorframework.io/"+prefix+"."+value] = "supported"
		}
	}
	assert.Equal(t, labels, csv.Labels)
	assert.Contains(t, labels, "operatorframework.io/arch.amd64")
	assert.Contains(t, labels, "operatorframework.io/arch.arm64")
	assert.Contains(t, labels, "operatorframework.io/os.linux")
}

func podOf(t *testing.T, csv v1alpha1.ClusterServiceVersion) corev1.PodSpec {
	t.Helper()
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	require.Len(t, deployments, 1)
	return deployments[0].Spec.Template.Spec
}

func variable(t *testing.T, container corev1.Container, name string) corev1.EnvVar {
	t.Helper()
	i := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return container.Env[i]
}

func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

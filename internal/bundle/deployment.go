package bundle

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	deploymentFile = "config/manager/deployment.yaml"
	// managerContainer is the container whose image the multi-architecture
	// validator looks at.
	managerContainer   = "manager"
	namespaceVariable  = "WATCH_NAMESPACE"
	agentImageVariable = "RELATED_IMAGE_LOOM_AGENT"
	// targetNamespaces is the annotation in which OLM hands every pod the
	// namespaces of its OperatorGroup: a list with commas, empty for all.
	targetNamespaces = "metadata.annotations['olm.targetNamespaces']"
)

// install takes the Deployment of config/manager over. The namespaces to look
// after come from OLM.
func install(source fs.FS, csv *v1alpha1.ClusterServiceVersion) error {
	deployment, err := read[appsv1.Deployment](source, deploymentFile)
	if err != nil {
		return err
	}
	manager, err := managerOf(&deployment.Spec)
	if err != nil {
		return err
	}
	if err := set(manager, corev1.EnvVar{Name: namespaceVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: targetNamespaces},
	}}); err != nil {
		return err
	}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []v1alpha1.StrategyDeploymentSpec{
		{Name: deployment.Name, Label: deployment.Labels, Spec: deployment.Spec},
	}
	return nil
}

// pin names the images by digest, and keeps the operator on nodes that its
// image is built for.
func (r Release) pin(csv *v1alpha1.ClusterServiceVersion) error {
	deployment := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	manager, err := managerOf(deployment)
	if err != nil {
		return err
	}
	manager.Image = r.Images.Operator
	if err := set(manager, corev1.EnvVar{Name: agentImageVariable, Value: r.Images.Agent}); err != nil {
		return err
	}
	pod := &deployment.Template.Spec
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	pod.Affinity.NodeAffinity = r.nodes()
	return nil
}

func (r Release) nodes() *corev1.NodeAffinity {
	var systems, architectures []string
	for _, platform := range r.Platforms {
		system, architecture := split(platform)
		systems, architectures = append(systems, system), append(architectures, architecture)
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: distinct(architectures)},
			{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: distinct(systems)},
		}}},
	}}
}

func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

func managerOf(deployment *appsv1.DeploymentSpec) (*corev1.Container, error) {
	containers := deployment.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == managerContainer })
	if i < 0 {
		return nil, fmt.Errorf("%s: there is no container %q", deploymentFile, managerContainer)
	}
	return &containers[i], nil
}

// set replaces a variable. One that is not there yet is an error, since the
// Deployment shows what the operator reads.
func set(container *corev1.Container, variable corev1.EnvVar) error {
	i := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == variable.Name })
	if i < 0 {
		return fmt.Errorf("%s: the container %q has no variable %s", deploymentFile, container.Name, variable.Name)
	}
	container.Env[i] = variable
	return nil
}

package workload

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// Names of the pod's volumes.
const (
	volumeConfig      = "config"
	volumeScratch     = "scratch"
	volumeWorkspace   = "workspace"
	volumeSecretFiles = "secret-files"
)

// readable lets any user ID read a file. The image's user is not known, and
// only its container mounts the files.
const readable int32 = 0o644

// storage returns the pod's volumes and where its container mounts them.
func storage(agent *v1alpha1.LoomAgent) ([]corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	add := func(name, path string, readOnly bool, source corev1.VolumeSource) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
	}

	add(volumeScratch, ScratchDir, false, emptyFolder())
	if sources := configSources(agent); len(sources) > 0 {
		add(volumeConfig, ConfigDir, true, corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(readable)},
		})
	}
	if w := agent.Spec.Workspace; w != nil {
		add(volumeWorkspace, w.MountPath, false, workspace(w))
	}
	if s := agent.Spec.SecretFiles; s != nil {
		add(volumeSecretFiles, s.MountPath, true, corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.Name, DefaultMode: new(readable)},
		})
	}
	return volumes, mounts
}

func emptyFolder() corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

func workspace(w *v1alpha1.Workspace) corev1.VolumeSource {
	if w.ClaimName == nil {
		return emptyFolder()
	}
	return corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: *w.ClaimName},
	}
}

// configSources returns what ConfigDir shows: the files of the agent's own
// ConfigMap, the input from a ConfigMap of the user, and the tokens.
func configSources(agent *v1alpha1.LoomAgent) []corev1.VolumeProjection {
	var sources []corev1.VolumeProjection
	if contents := files(agent); len(contents) > 0 {
		var items []corev1.KeyToPath
		for _, f := range contents {
			items = append(items, corev1.KeyToPath{Key: f.key, Path: f.path})
		}
		sources = append(sources, configMapSource(configName(agent, contents), items...))
	}
	if in := input(agent); in.Text == nil && in.ConfigMapKeyRef != nil {
		ref := in.ConfigMapKeyRef
		sources = append(sources, configMapSource(ref.Name, corev1.KeyToPath{Key: ref.Key, Path: InputFile}))
	}
	return append(sources, tokens(agent.Spec.Boundary)...)
}

func configMapSource(name string, items ...corev1.KeyToPath) corev1.VolumeProjection {
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items,
	}}
}

package check

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names of other objects must be possible names. Whether the objects exist is
// not asked here.
func reference(in Input) []Finding {
	spec := in.Agent.Spec
	var found []Finding
	name := func(field, kind, value string) {
		if !isSubdomain(value) {
			found = append(found, broken(field, "%s is not a valid name of a %s. %s", quote(value), kind, subdomainRule))
		}
	}
	if spec.SecretRef != nil {
		name("spec.secretRef.name", "Secret", spec.SecretRef.Name)
	}
	if spec.SecretFiles != nil {
		name("spec.secretFiles.name", "Secret", spec.SecretFiles.Name)
	}
	if spec.Workspace != nil && spec.Workspace.ClaimName != nil {
		name("spec.workspace.claimName", "PersistentVolumeClaim", *spec.Workspace.ClaimName)
	}
	if spec.Schedule != nil && spec.Schedule.Input != nil && spec.Schedule.Input.ConfigMapKeyRef != nil {
		ref := spec.Schedule.Input.ConfigMapKeyRef
		name("spec.schedule.input.configMapKeyRef.name", "ConfigMap", ref.Name)
		if len(validation.IsConfigMapKey(ref.Key)) > 0 {
			found = append(found, broken("spec.schedule.input.configMapKeyRef.key", "%s is not a valid key of a ConfigMap. Use at most 253 letters, digits, '-', '_' and '.'.", quote(ref.Key)))
		}
	}
	if spec.Pod == nil {
		return found
	}
	if spec.Pod.PriorityClassName != "" {
		name("spec.pod.priorityClassName", "PriorityClass", spec.Pod.PriorityClassName)
	}
	if spec.Pod.RuntimeClassName != nil {
		name("spec.pod.runtimeClassName", "RuntimeClass", *spec.Pod.RuntimeClassName)
	}
	if spec.Pod.ServiceAccountName != "" {
		name("spec.pod.serviceAccountName", "ServiceAccount", spec.Pod.ServiceAccountName)
	}
	for i, secret := range spec.Pod.ImagePullSecrets {
		name(fmt.Sprintf("spec.pod.imagePullSecrets[%d].name", i), "Secret", secret.Name)
	}
	return found
}

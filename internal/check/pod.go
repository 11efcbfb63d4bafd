package check

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// maxAnnotationBytes is what Kubernetes allows all annotations of an object. A
// part of it is left to the operator.
const maxAnnotationBytes = 256<<10 - 4<<10

// Labels by which the operator and the workload controllers of Kubernetes find
// their pods. A user's value would make pods lose their owner.
var reservedLabels = []string{
	"app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/name",
	"controller-uid", "job-name", "pod-template-hash",
}

// Prefixes of keys that belong to this API or to the Job controller.
var reservedPrefixes = []string{v1alpha1.Group + "/", "batch.kubernetes.io/"}

func resources(in Input) []Finding {
	if in.Agent.Spec.Pod == nil || in.Agent.Spec.Pod.Resources == nil {
		return nil
	}
	const field = "spec.pod.resources"
	requests, found := quantities(field+".requests", in.Agent.Spec.Pod.Resources.Requests)
	limits, more := quantities(field+".limits", in.Agent.Spec.Pod.Resources.Limits)
	found = append(found, more...)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request := requests[name]
		if limit, ok := limits[name]; ok && request.Cmp(limit) > 0 {
			found = append(found, broken(field+".requests", "The request of %s is larger than its limit. Lower the request or raise the limit.", quote(string(name))))
		}
	}
	return found
}

// quantities reads amounts, and tells what is wrong with those that it leaves out.
func quantities(field string, amounts map[corev1.ResourceName]v1alpha1.Amount) (corev1.ResourceList, []Finding) {
	list := corev1.ResourceList{}
	var found []Finding
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if len(validation.IsQualifiedName(string(name))) > 0 {
			found = append(found, broken(field, "%s is not a valid name of a resource. Use one such as cpu, memory or example.com/gpu.", quote(string(name))))
		}
		quantity, err := amounts[name].Quantity()
		if err != nil {
			found = append(found, broken(field, "%s of %s is not an amount. Write one such as 500m, 2 or 1Gi.", quote(string(amounts[name])), quote(string(name))))
			continue
		}
		list[name] = quantity
	}
	return list, found
}

func nodeSelector(in Input) []Finding {
	if in.Agent.Spec.Pod == nil {
		return nil
	}
	return labels("spec.pod.nodeSelector", in.Agent.Spec.Pod.NodeSelector)
}

func podLabels(in Input) []Finding {
	if in.Agent.Spec.Pod == nil {
		return nil
	}
	const field = "spec.pod.labels"
	keys := in.Agent.Spec.Pod.Labels
	found := append(labels(field, keys), reservedKeys(field, keys)...)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(reservedLabels, key) {
			found = append(found, broken(field, "%s is set by the operator or by Kubernetes. Choose another key.", quote(key)))
		}
	}
	return found
}

func podAnnotations(in Input) []Finding {
	if in.Agent.Spec.Pod == nil {
		return nil
	}
	const field = "spec.pod.annotations"
	keys := in.Agent.Spec.Pod.Annotations
	found := reservedKeys(field, keys)
	total := 0
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		total += len(key) + len(keys[key])
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			found = append(found, broken(field, "%s is not a valid key. %s", quote(key), keyRule))
		}
	}
	if total > maxAnnotationBytes {
		found = append(found, broken(field, "The annotations have %d bytes in total and at most %d are allowed. Shorten them.", total, maxAnnotationBytes))
	}
	return found
}

const keyRule = "Use letters, digits, '-', '_' and '.', begin and end with a letter or digit, use at most 63 characters, and put a domain and '/' before it if you like."

func labels(field string, all map[string]string) []Finding {
	var found []Finding
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			found = append(found, broken(field, "%s is not a valid key. %s", quote(key), keyRule))
		}
		if len(validation.IsValidLabelValue(all[key])) > 0 {
			found = append(found, broken(field, "The value of %s is not valid. Use at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit.", quote(key)))
		}
	}
	return found
}

func reservedKeys(field string, all map[string]string) []Finding {
	var found []Finding
	for _, key := range slices.Sorted(maps.Keys(all)) {
		for _, prefix := range reservedPrefixes {
			if strings.HasPrefix(key, prefix) {
				found = append(found, broken(field, "%s begins with %s, which is reserved. Choose another key.", quote(key), prefix))
			}
		}
	}
	return found
}

package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// file is one file that comes from the document itself: its key in the
// ConfigMap, its path below ConfigDir, and its text.
type file struct {
	key, path, text string
}

// FileKey returns the ConfigMap key of a config file. The check must refuse a
// name for which this is no valid key.
func FileKey(name string) string { return FilesDir + "." + name }

// Config returns the ConfigMap with everything that the document hands over as
// files, nil when that is nothing.
func Config(in Input) *corev1.ConfigMap {
	contents := files(in.Agent)
	if len(contents) == 0 {
		return nil
	}
	data := make(map[string]string, len(contents))
	for _, f := range contents {
		data[f.key] = f.text
	}
	config := &corev1.ConfigMap{
		ObjectMeta: meta(in.Agent, configName(in.Agent, contents), Component(in.Agent)),
		Immutable:  new(true),
		Data:       data,
	}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return config
}

// configName is empty when there is nothing to hand over. It contains a digest of
// the data, so that pods of one template always read the same content, also
// while the document changes.
func configName(agent *v1alpha1.LoomAgent, contents []file) string {
	if len(contents) == 0 {
		return ""
	}
	var text strings.Builder
	for _, f := range contents {
		fmt.Fprintf(&text, "%q: %q\n", f.key, f.text)
	}
	return CronJobName(agent) + "-" + digest(text.String(), suffixDigits)
}

// files returns what the document hands over, ordered by key and with each key
// once, so that the order of a list in the document changes nothing. Text goes
// to files and never to arguments or the environment, where Kubernetes expands
// $(NAME) and the kernel takes at most 128 KiB (cases A13 and A42).
func files(agent *v1alpha1.LoomAgent) []file {
	spec := agent.Spec
	var all []file
	add := func(name, text string) { all = append(all, file{key: name, path: name, text: text}) }

	if spec.Agent != nil {
		add(AgentFile, string(spec.Agent.JSON()))
	}
	if spec.Routes != nil && isPresent(spec.Routes.Raw) {
		add(RoutesFile, string(spec.Routes.Raw))
	}
	if spec.ConnectorsConfig != nil {
		add(ConnectorsFile, *spec.ConnectorsConfig)
	}
	if spec.Boundary != nil {
		add(BoundaryFile, boundaryJSON(spec.Boundary))
	}
	if text := input(agent).Text; text != nil {
		add(InputFile, *text)
	}
	for _, f := range spec.ConfigFiles {
		all = append(all, file{key: FileKey(f.Name), path: FilesDir + "/" + f.Name, text: f.Content})
	}
	slices.SortStableFunc(all, func(a, b file) int { return strings.Compare(a.key, b.key) })
	return slices.CompactFunc(all, func(a, b file) bool { return a.key == b.key })
}

// input returns the schedule's input, the zero value when there is none.
func input(agent *v1alpha1.LoomAgent) v1alpha1.ScheduleInput {
	if agent.Spec.Schedule == nil || agent.Spec.Schedule.Input == nil {
		return v1alpha1.ScheduleInput{}
	}
	return *agent.Spec.Schedule.Input
}

// isPresent tells whether a JSON value was given. Null means absent.
func isPresent(raw []byte) bool {
	text := bytes.TrimSpace(raw)
	return len(text) > 0 && !bytes.Equal(text, []byte("null"))
}

// Mounts tells whether a pod mounts the ConfigMap of this name.
func Mounts(pod corev1.PodSpec, configMap string) bool {
	for _, volume := range pod.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil && source.ConfigMap.Name == configMap {
				return true
			}
		}
	}
	return false
}

package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

const (
	// The key in the ConfigMap is the name with a prefix, and has at most 253
	// characters.
	maxFileNameBytes = 240
	// A ConfigMap holds 1 MiB. Some of it is left for what the operator adds.
	maxConfigBytes = 1<<20 - 4<<10
)

// A file name is a key of a ConfigMap, so no folders (A49).
func configFileName(in Input) []Finding {
	var found []Finding
	for i, file := range in.Agent.Spec.ConfigFiles {
		switch {
		case file.Name == "":
			found = append(found, broken(fileField(i), "The name is empty. Give a file name."))
		case len(file.Name) > maxFileNameBytes:
			found = append(found, broken(fileField(i), "The name has %d characters and at most %d are allowed. Use a shorter one.", len(file.Name), maxFileNameBytes))
		case len(validation.IsConfigMapKey(file.Name)) > 0:
			found = append(found, broken(fileField(i), "%s is not a valid file name. Use letters, digits, '-', '_' and '.', without folders, and do not begin with two dots.", quote(file.Name)))
		}
	}
	return found
}

func configFileUnique(in Input) []Finding {
	var found []Finding
	first := map[string]int{}
	for i, file := range in.Agent.Spec.ConfigFiles {
		if j, ok := first[file.Name]; ok {
			found = append(found, broken(fileField(i), "%s is already the name of spec.configFiles[%d]. Rename one of them.", quote(file.Name), j))
			continue
		}
		first[file.Name] = i
	}
	return found
}

func fileField(i int) string { return fmt.Sprintf("spec.configFiles[%d].name", i) }

// Everything that the document hands to the runtime as a file is in one
// ConfigMap (A60).
func configSize(in Input) []Finding {
	parts := configParts(&in.Agent.Spec)
	total := 0
	for _, part := range parts {
		total += part.bytes
	}
	if total <= maxConfigBytes {
		return nil
	}
	largest := slices.MaxFunc(parts, func(a, b configPart) int { return cmp.Compare(a.bytes, b.bytes) })
	return []Finding{broken(largest.field, "The files made from the document have %d bytes in total and at most %d fit. This is the largest part; shorten it, or keep it in a Secret and use spec.secretFiles.", total, maxConfigBytes)}
}

type configPart struct {
	field string
	bytes int
}

func configParts(spec *v1alpha1.LoomAgentSpec) []configPart {
	var parts []configPart
	if spec.Agent != nil {
		parts = append(parts, configPart{"spec.agent", len(spec.Agent.JSON())})
	}
	if spec.Routes != nil {
		parts = append(parts, configPart{"spec.routes", len(spec.Routes.Raw)})
	}
	if spec.ConnectorsConfig != nil {
		parts = append(parts, configPart{"spec.connectorsConfig", len(*spec.ConnectorsConfig)})
	}
	if spec.Boundary != nil {
		text, _ := json.Marshal(spec.Boundary) // Texts and lists of texts never fail.
		parts = append(parts, configPart{"spec.boundary", len(text)})
	}
	if spec.Schedule != nil && spec.Schedule.Input != nil && spec.Schedule.Input.Text != nil {
		parts = append(parts, configPart{"spec.schedule.input.text", len(*spec.Schedule.Input.Text)})
	}
	for i, file := range spec.ConfigFiles {
		parts = append(parts, configPart{fmt.Sprintf("spec.configFiles[%d].content", i), len(file.Content)})
	}
	return parts
}

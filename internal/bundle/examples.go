package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"
)

const examplesFile = "config/bundle/examples.yaml"

// example is a sample that consoles offer.
type example struct {
	File        string         `json:"file"`
	Description string         `json:"description"`
	Status      map[string]any `json:"status"`
}

// annotateExamples writes the examples, and the first of them as the document
// that consoles offer right after the installation.
func annotateExamples(source fs.FS, annotations map[string]string) error {
	examples, err := read[[]example](source, examplesFile)
	if err != nil {
		return err
	}
	documents, texts := make([]map[string]any, len(examples)), map[string]map[string]string{}
	for i, e := range examples {
		if documents[i], err = readAny(source, e.File); err != nil {
			return err
		}
		metadata, _ := documents[i]["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if name == "" || texts[name] != nil {
			return fmt.Errorf("%s: the name of an example is %q; each needs one of its own", e.File, name)
		}
		texts[name] = map[string]string{"description": e.Description}
	}
	if len(documents) == 0 {
		return fmt.Errorf("%s: there is no example", examplesFile)
	}
	if annotations["operatorframework.io/initialization-resource"], err = indent(documents[0]); err != nil {
		return err
	}
	for i, e := range examples {
		documents[i]["status"] = e.Status
	}
	if annotations["alm-examples"], err = indent(documents); err != nil {
		return err
	}
	annotations["alm-examples-metadata"], err = indent(texts)
	return err
}

// readAny reads one object of any kind. Numbers keep their digits.
func readAny(source fs.FS, file string) (map[string]any, error) {
	text, err := fs.ReadFile(source, file)
	if err != nil {
		return nil, err
	}
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return fields, nil
}

// indent writes JSON for people to read: without escapes for HTML.
func indent(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(out.Bytes())), nil
}

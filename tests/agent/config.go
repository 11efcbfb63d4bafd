package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// defaultConfigDir is where the runtime contract mounts the configuration.
const defaultConfigDir = "/etc/loom"

// fact tells a content apart from every other one without showing it.
type fact struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func factOf(content []byte) fact {
	sum := sha256.Sum256(content)
	return fact{Bytes: len(content), SHA256: hex.EncodeToString(sum[:])}
}

// document is the part of the loom.agent/1 document that the sample agent
// reads. The key sample is its own: all keys but schema, model and
// instructions belong to the runtime.
type document struct {
	Schema       string          `json:"schema"`
	Model        string          `json:"model"`
	Instructions string          `json:"instructions"`
	Sample       json.RawMessage `json:"sample"`
}

// description is what the agent knows about itself: GET / answers it and run
// prints it.
type description struct {
	Name              string          `json:"name"`
	Namespace         string          `json:"namespace"`
	Mode              string          `json:"mode"`
	Version           string          `json:"version"`
	Schema            string          `json:"schema,omitempty"`
	Model             string          `json:"model,omitempty"`
	InstructionsBytes int             `json:"instructionsBytes"`
	Files             map[string]fact `json:"files"`
}

// load reads the configuration folder once, as the pod starts: its content
// never changes while the pod lives. The behavior is the document's.
func (p process) load() (description, behavior, error) {
	dir := cmp.Or(p.getenv("LOOM_CONFIG_DIR"), defaultConfigDir)
	doc, err := readDocument(filepath.Join(dir, "agent.json"))
	if err != nil {
		return description{}, behavior{}, err
	}
	asked, err := parseBehavior(doc.Sample)
	if err != nil {
		return description{}, behavior{}, err
	}
	if err := checkRoutes(filepath.Join(dir, "routes.json")); err != nil {
		return description{}, behavior{}, err
	}
	files := map[string]fact{}
	if err := addFacts(files, dir, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return description{}, behavior{}, fmt.Errorf("reading the configuration folder: %w", err)
	}
	return description{
		Name:              p.getenv("LOOM_AGENT_NAME"),
		Namespace:         p.getenv("LOOM_AGENT_NAMESPACE"),
		Mode:              p.getenv("LOOM_MODE"),
		Version:           version,
		Schema:            doc.Schema,
		Model:             doc.Model,
		InstructionsBytes: len(doc.Instructions),
		Files:             files,
	}, asked, nil
}

// readDocument answers an empty document when there is no file: a command may
// have none.
func readDocument(file string) (document, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil
	}
	if err != nil {
		return document{}, fmt.Errorf("reading the document: %w", err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return document{}, fmt.Errorf("the document %s is not a loom.agent/1 document: %w", file, err)
	}
	return doc, nil
}

func checkRoutes(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the routes: %w", err)
	}
	if !json.Valid(text) {
		return fmt.Errorf("the routes in %s are not JSON", file)
	}
	return nil
}

// addFacts adds every file below dir under its path relative to the
// configuration folder. It follows links, since the kubelet makes each entry
// of a projected volume one, and leaves out the entries that the kubelet keeps
// for itself, which start with two dots, and the tokens, which are secret and
// change every hour.
func addFacts(facts map[string]fact, dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(prefix, entry.Name())
		if strings.HasPrefix(entry.Name(), "..") || name == "tokens" {
			continue
		}
		if err := addFact(facts, filepath.Join(dir, entry.Name()), name); err != nil {
			return err
		}
	}
	return nil
}

func addFact(facts map[string]fact, file, name string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return addFacts(facts, file, name)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	facts[name] = factOf(content)
	return nil
}

// parseBehavior reads the document's key sample. A key in it that means
// nothing here is an error, so that a misspelled one is noticed.
func parseBehavior(sample json.RawMessage) (behavior, error) {
	if len(sample) == 0 {
		return behavior{}, nil
	}
	var asked behavior
	decoder := json.NewDecoder(bytes.NewReader(sample))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return behavior{}, fmt.Errorf("the key sample of the document cannot be used: %w", err)
	}
	if err := asked.check(); err != nil {
		return behavior{}, fmt.Errorf("the key sample of the document cannot be used: %w", err)
	}
	return asked, nil
}

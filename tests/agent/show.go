package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// probe is how a container looks from inside. Contents and values appear as
// facts only, so that a log never holds a secret.
type probe struct {
	Files            map[string]fileProbe `json:"files"`
	Environment      map[string]fact      `json:"environment"`
	UID              int                  `json:"uid"`
	GID              int                  `json:"gid"`
	WorkingDirectory string               `json:"workingDirectory"`
	RootReadOnly     bool                 `json:"rootReadOnly"`
}

// fileProbe is a fact, or why there is none.
type fileProbe struct {
	*fact
	Error string `json:"error,omitempty"`
}

// show prints a probe of the container with the files that it is asked for. A
// file that cannot be read is an answer and not a failure.
func (p process) show(files []string) (int, error) {
	directory, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("finding the working directory: %w", err)
	}
	readOnly, err := isReadOnly("/")
	if err != nil {
		return 0, err
	}
	seen := probe{
		Files:            map[string]fileProbe{},
		Environment:      map[string]fact{},
		UID:              os.Getuid(),
		GID:              os.Getgid(),
		WorkingDirectory: directory,
		RootReadOnly:     readOnly,
	}
	for _, file := range files {
		seen.Files[file] = probeFile(file)
	}
	for _, variable := range p.environ {
		name, value, _ := strings.Cut(variable, "=")
		seen.Environment[name] = factOf([]byte(value))
	}
	if err := json.NewEncoder(p.stdout).Encode(seen); err != nil {
		return 0, fmt.Errorf("printing the probe: %w", err)
	}
	return 0, nil
}

func probeFile(file string) fileProbe {
	content, err := os.ReadFile(file)
	if err != nil {
		return fileProbe{Error: err.Error()}
	}
	known := factOf(content)
	return fileProbe{fact: &known}
}

// isReadOnly tries to make a folder, the one way that tells a read-only mount
// from a folder that this user may not write to: Linux looks at the mount
// before it looks at the permissions.
func isReadOnly(dir string) (bool, error) {
	made, err := os.MkdirTemp(dir, ".loom-agent-")
	switch {
	case err == nil:
		return false, os.Remove(made)
	case errors.Is(err, syscall.EROFS):
		return true, nil
	case errors.Is(err, os.ErrPermission):
		return false, nil
	default:
		return false, fmt.Errorf("finding out whether %s is read-only: %w", dir, err)
	}
}

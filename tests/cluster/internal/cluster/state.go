package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/build"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

const stateFile = "state.json"

// State is what the state file holds. It is written after every step of starting a cluster, so that a cluster that
// came up only in part can be stopped.
type State struct {
	Config    Config            `json:"config"`
	Versions  build.Versions    `json:"versions"`
	Ready     bool              `json:"ready"`             // it came up completely once
	Processes []process.Record  `json:"processes"`         // in the order they were started
	Sysctls   map[string]string `json:"sysctls,omitempty"` // kernel settings as they were before, by path under /proc/sys
}

// loadState reads the state in the cluster's directory. found is false when there is none.
func loadState(dir string) (state State, found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, false, nil
	}
	if err != nil {
		return State{}, false, fmt.Errorf("reading the state of the cluster: %w", err)
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return State{}, false, fmt.Errorf("reading the state of the cluster in %s: %w", filepath.Join(dir, stateFile), err)
	}
	return state, true, nil
}

// save replaces the state file in one step: a reader sees the old state or the new one.
func (s State) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state of the cluster: %w", err)
	}
	path := s.Config.path(stateFile)
	if err := writeFile(path+".new", text); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("saving the state of the cluster: %w", err)
	}
	return nil
}

// record adds a started process, or replaces the one of the same name.
func (s *State) record(started process.Record) {
	if at := s.index(started.Name); at >= 0 {
		s.Processes[at] = started
		return
	}
	s.Processes = append(s.Processes, started)
}

// index is the place of a component among the processes, or -1.
func (s State) index(name string) int {
	return slices.IndexFunc(s.Processes, func(p process.Record) bool { return p.Name == name })
}

// dead lists the components that should run and do not.
func (s State) dead() []string {
	var names []string
	for _, p := range s.Processes {
		if !p.Alive() {
			names = append(names, p.Name)
		}
	}
	return names
}

// anyAlive says whether at least one recorded process runs.
func (s State) anyAlive() bool { return len(s.dead()) < len(s.Processes) }

// within says whether path is dir or lies under it. Both are clean and absolute.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

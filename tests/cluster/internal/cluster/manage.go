package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/build"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

// Status is what a person or a test wants to know about a cluster.
type Status struct {
	Name       string          `json:"name"`
	Running    bool            `json:"running"` // it came up, and all its processes run
	Server     string          `json:"server"`
	Kubeconfig string          `json:"kubeconfig"`
	Versions   build.Versions  `json:"versions"`
	Node       string          `json:"node"` // "none", "Ready", or why it is not
	Processes  []ProcessStatus `json:"processes"`
}

// ProcessStatus is one component.
type ProcessStatus struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Running bool   `json:"running"`
	Log     string `json:"log"`
}

// Down stops a cluster and removes its directory and everything else it left on the machine. The built programs stay.
// A cluster that does not exist is no error.
func (m *Manager) Down(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir := filepath.Join(m.Layout.Runs, name)
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	state, _, err := loadState(dir)
	if err != nil {
		return err
	}
	return m.remove(ctx, dir, state)
}

// DownAll stops every cluster in the directory.
func (m *Manager) DownAll(ctx context.Context) error {
	entries, err := os.ReadDir(m.Layout.Runs)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		if entry.IsDir() {
			failed = append(failed, m.Down(ctx, entry.Name()))
		}
	}
	return errors.Join(failed...)
}

func (m *Manager) remove(ctx context.Context, dir string, state State) error {
	if err := release(ctx, dir, state); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the cluster's directory: %w", err)
	}
	return nil
}

// Status reports on a cluster.
func (m *Manager) Status(ctx context.Context, name string) (Status, error) {
	state, err := m.state(name)
	if err != nil {
		return Status{}, err
	}
	config := state.Config
	status := Status{
		Name:       name,
		Running:    state.Ready && len(state.dead()) == 0,
		Server:     config.Server(),
		Kubeconfig: config.AdminKubeconfig(),
		Versions:   state.Versions,
		Node:       "none",
	}
	for _, p := range state.Processes {
		status.Processes = append(status.Processes, ProcessStatus{Name: p.Name, PID: p.PID, Running: p.Alive(), Log: p.Log})
	}
	if config.Node && !status.Running {
		status.Node = "not all components run"
	} else if config.Node {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		status.Node = "Ready"
		if err := config.probe(ctx, "kubelet", time.Time{}); err != nil {
			status.Node = err.Error()
		}
	}
	return status, nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (m *Manager) Kubeconfig(name string) (string, error) {
	state, err := m.state(name)
	return state.Config.AdminKubeconfig(), err
}

// Load imports image archives into the node of a cluster.
func (m *Manager) Load(ctx context.Context, name string, archives []string) error {
	state, err := m.state(name)
	if err != nil {
		return err
	}
	if !state.Config.Node {
		return fmt.Errorf("cluster %q has no node to load images into", name)
	}
	return state.Config.load(ctx, archives)
}

// Restart stops a component, starts it with the arguments it had, and waits until it serves.
func (m *Manager) Restart(ctx context.Context, name, component string) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(m.Layout.Runs, name))
	if err != nil {
		return err
	}
	defer unlock()
	state, err := m.state(name)
	if err != nil {
		return err
	}
	at := state.index(component)
	if at < 0 {
		return fmt.Errorf("cluster %q has no component %q; it has %s", name, component, strings.Join(state.components(), ", "))
	}
	if err := state.Processes[at].Stop(ctx, stopGrace); err != nil {
		return err
	}
	return state.startAll(ctx, []process.Spec{state.Processes[at].Spec})
}

func (s State) components() []string {
	var names []string
	for _, p := range s.Processes {
		names = append(names, p.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// state loads the state of a cluster that must exist.
func (m *Manager) state(name string) (State, error) {
	if err := checkName(name); err != nil {
		return State{}, err
	}
	state, found, err := loadState(filepath.Join(m.Layout.Runs, name))
	if err == nil && !found {
		err = fmt.Errorf("there is no cluster %q in %s: start it with up", name, m.Layout.Runs)
	}
	return state, err
}

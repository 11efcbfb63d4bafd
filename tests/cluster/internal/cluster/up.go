package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/build"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/image"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

// Manager starts and stops clusters in one directory.
type Manager struct {
	Layout   Layout
	Progress io.Writer // what goes on, for a person
}

// Options are what a person chooses for a new cluster.
type Options struct {
	Name              string
	Nodes             int // 0 or 1
	ControllerManager bool
}

func (o Options) check() error {
	if err := checkName(o.Name); err != nil {
		return err
	}
	switch {
	case o.Nodes < 0 || o.Nodes > 1:
		return fmt.Errorf("--nodes must be 0 or 1, not %d", o.Nodes)
	case o.Nodes == 1 && !o.ControllerManager:
		return errors.New("--controller-manager=false needs --nodes 0: a node needs kube-controller-manager")
	case o.Nodes == 1 && os.Geteuid() != 0:
		return errors.New("--nodes 1 needs root, to run containers; use --nodes 0 for an API server without a node")
	}
	return nil
}

// checkName refuses names that cannot be a directory and a node at once.
func checkName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("--name %q is not a valid name: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// Up starts a cluster, waits until it serves, and returns the path of its kubeconfig. Programs that are missing are
// built, packages that are missing are installed, and what a crashed cluster of this name left is removed. For a
// cluster that runs already it only returns the path. When starting fails, what was started is stopped again; its
// logs stay.
func (m *Manager) Up(ctx context.Context, options Options) (kubeconfig string, err error) {
	if err := options.check(); err != nil {
		return "", err
	}
	dir := filepath.Join(m.Layout.Runs, options.Name)
	unlock, err := lock(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	old, found, err := loadState(dir)
	if err != nil {
		return "", err
	}
	if found && old.Ready && len(old.dead()) == 0 {
		return old.Config.AdminKubeconfig(), old.Config.matches(options)
	}
	if found && old.Ready {
		fmt.Fprintf(m.Progress, "cluster %q is broken (%s ended): starting it anew\n", options.Name, strings.Join(old.dead(), ", "))
	}
	versions, err := build.Ensure(ctx, m.Layout.Module, m.Layout.Bin, m.Progress)
	if err != nil {
		return "", err
	}
	config, err := m.newConfig(ctx, options)
	if err != nil {
		return "", err
	}
	if err := m.remove(ctx, dir, old); err != nil {
		return "", err
	}
	state := &State{Config: config, Versions: versions}
	if err := m.start(ctx, state); err != nil {
		return "", errors.Join(err, release(context.WithoutCancel(ctx), dir, *state))
	}
	return config.AdminKubeconfig(), nil
}

// matches is an error when the running cluster is not what the options ask for.
func (c Config) matches(options Options) error {
	if c.Node != (options.Nodes == 1) || c.ControllerManager != options.ControllerManager {
		return fmt.Errorf("cluster %q already runs with other options (node: %t, kube-controller-manager: %t): stop it with down first",
			c.Name, c.Node, c.ControllerManager)
	}
	return nil
}

// newConfig decides addresses and ports, and installs what a node needs.
func (m *Manager) newConfig(ctx context.Context, options Options) (Config, error) {
	config := Config{
		Name:              options.Name,
		Dir:               filepath.Join(m.Layout.Runs, options.Name),
		Bin:               m.Layout.Bin,
		Node:              options.Nodes == 1,
		ControllerManager: options.ControllerManager,
		Address:           "127.0.0.1",
	}
	if err := config.checkPaths(); err != nil {
		return Config{}, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return Config{}, err
	}
	config.EtcdPort, config.EtcdPeerPort, config.Port = ports[0], ports[1], ports[2]
	if config.Node {
		config.Address, config.Port = nodeAddress, nodePort
		if config.CNIBin, err = ensurePackages(ctx, m.Progress); err != nil {
			return Config{}, err
		}
	}
	return config, nil
}

// start brings the cluster up phase by phase.
func (m *Manager) start(ctx context.Context, state *State) error {
	began := time.Now()
	config := state.Config
	if err := state.prepare(ctx); err != nil {
		return err
	}
	for i, phase := range config.phases() {
		if err := state.startAll(ctx, phase); err != nil {
			return err
		}
		if i == 0 && config.Node {
			if err := config.load(ctx, []string{config.path("pause.tar")}); err != nil {
				return err
			}
		}
	}
	state.Ready = true
	if err := state.save(); err != nil {
		return err
	}
	fmt.Fprintf(m.Progress, "cluster %q serves at %s after %s\n", config.Name, config.Server(), time.Since(began).Round(time.Second))
	return nil
}

// prepare makes everything that the programs need before they start.
func (s *State) prepare(ctx context.Context) error {
	config := s.Config
	if err := config.writeCredentials(time.Now()); err != nil {
		return err
	}
	if err := config.install(map[string]string{"audit-policy.yaml": "audit-policy.yaml"}); err != nil {
		return err
	}
	if err := os.MkdirAll(config.path("logs"), 0o755); err != nil {
		return fmt.Errorf("making the directory of logs: %w", err)
	}
	if err := s.save(); err != nil || !config.Node {
		return err
	}
	if err := config.claimNode(ctx); err != nil {
		return err
	}
	var err error
	if s.Sysctls, err = readSysctls(); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		return err
	}
	if err := image.Pack(config.path("pause.tar"), pauseImage, config.program("pause"), pauseUser); err != nil {
		return err
	}
	return config.prepareNode(ctx)
}

// startAll starts components together and waits until all of them serve.
func (s *State) startAll(ctx context.Context, specs []process.Spec) error {
	since := time.Now()
	var started []process.Record
	for _, spec := range specs {
		record, err := process.Start(spec)
		if err != nil {
			return err
		}
		started = append(started, record)
		s.record(record)
		if err := s.save(); err != nil {
			return err
		}
	}
	for _, record := range started {
		if err := s.Config.awaitReady(ctx, record, since); err != nil {
			return err
		}
	}
	return nil
}

// freePorts returns loopback ports that nothing listens on. They are all held until the last is chosen, so they
// differ.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

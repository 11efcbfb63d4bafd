// Package deploy brings the operator of this source tree into a cluster as a
// user would: the images, the manifests that `loom-operator install` prints,
// and the wait until the Deployment is available. The demo and the end-to-end
// tests share it.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Name is the name of the local cluster.
const Name = "loom"

// Cluster is a cluster that kubectl reaches.
type Cluster struct {
	Kubectl    string    // path of the program
	Kubeconfig string    // path of its configuration
	Progress   io.Writer // is told what takes long

	root string // of the repository
	// load imports archives into the nodes; nil where that cannot be done.
	load func(ctx context.Context, archives ...string) error
}

// Start starts the local cluster of the repository, or finds it running. The
// first time it builds Kubernetes, which takes about ten minutes.
func Start(ctx context.Context, root string, progress io.Writer) (Cluster, error) {
	printed, err := launcher(ctx, root, progress, "up", "--name", Name)
	if err != nil {
		return Cluster{}, fmt.Errorf("start the local cluster: %w", err)
	}
	kubeconfig := strings.TrimSpace(printed)
	// The launcher keeps run/NAME/kubeconfig beside bin.
	folder := filepath.Join(filepath.Dir(kubeconfig), "..", "..")
	return Cluster{
		Kubectl: filepath.Join(folder, "bin", "kubectl"), Kubeconfig: kubeconfig, Progress: progress, root: root,
		load: func(ctx context.Context, archives ...string) error {
			_, err := launcher(ctx, root, progress, append([]string{"load", "--name", Name}, archives...)...)
			return err
		},
	}, nil
}

// Stop stops the local cluster. The programs that were built stay.
func Stop(ctx context.Context, root string, progress io.Writer) error {
	if _, err := launcher(ctx, root, progress, "down", "--name", Name); err != nil {
		return fmt.Errorf("stop the local cluster: %w", err)
	}
	return nil
}

// launcher runs tests/cluster and returns what it prints. It is a module of
// its own, so it is run and not called.
func launcher(ctx context.Context, root string, progress io.Writer, args ...string) (string, error) {
	return run(ctx, process{dir: filepath.Join(root, "tests", "cluster"), stderr: progress},
		"go", append([]string{"run", "-buildvcs=false", "."}, args...)...)
}

// Existing is the cluster that the environment variable KUBECONFIG names. Only
// a cluster that kind made takes images that were built here.
func Existing(ctx context.Context, root string, progress io.Writer) (Cluster, error) {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return Cluster{}, errors.New("the environment variable KUBECONFIG is empty: set it to the configuration of the cluster to use")
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return Cluster{}, fmt.Errorf("kubectl is needed to use an existing cluster: %w", err)
	}
	c := Cluster{Kubectl: kubectl, Kubeconfig: kubeconfig, Progress: progress, root: root}
	current, err := c.Run(ctx, "config", "current-context")
	if err != nil {
		return Cluster{}, fmt.Errorf("find the cluster in %s: %w", kubeconfig, err)
	}
	name, isKind := strings.CutPrefix(strings.TrimSpace(current), "kind-")
	if _, err := exec.LookPath("kind"); err == nil && isKind {
		c.load = func(ctx context.Context, archives ...string) error {
			_, err := run(ctx, process{stderr: progress}, "kind", append([]string{"load", "image-archive", "--name", name}, archives...)...)
			return err
		}
	}
	return c, nil
}

// Loads tells whether images that were built here reach the nodes without a
// registry.
func (c Cluster) Loads() bool { return c.load != nil }

package harness

import (
	"context"
	"encoding/json"
	"fmt"
)

// Fresh returns the named cluster brought up anew, with an empty etcd; one of
// that name that runs is taken down first. The arguments go to the launcher's
// up. Whoever calls it calls Down.
func Fresh(ctx context.Context, name string, args ...string) (*Cluster, error) {
	if _, err := launch(ctx, "down", "--name", name); err != nil {
		return nil, err
	}
	kubeconfig, err := launch(ctx, append([]string{"up", "--name", name}, args...)...)
	if err != nil {
		return nil, err
	}
	cluster, err := connect(name, kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := cluster.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare cluster %q: %w", name, err)
	}
	return cluster, nil
}

// Down stops the cluster and removes it.
func (c *Cluster) Down(ctx context.Context) error {
	_, err := launch(ctx, "down", "--name", c.Name)
	return err
}

// Status is what the launcher tells about a cluster.
type Status struct {
	Versions struct {
		Kubernetes string `json:"kubernetes"`
		Etcd       string `json:"etcd"`
	} `json:"versions"`
	Processes []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	} `json:"processes"`
}

// Status asks the launcher about the cluster.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	text, err := launch(ctx, "status", "--name", c.Name, "-o", "json")
	if err != nil {
		return Status{}, err
	}
	var status Status
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return Status{}, fmt.Errorf("read the status of cluster %q: %w", c.Name, err)
	}
	return status, nil
}

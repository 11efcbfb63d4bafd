package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// managedLabel is what containerd puts on an image once its Kubernetes side knows it.
const managedLabel = "io.cri-containerd.image=managed"

// importTimeout bounds the wait for that label.
const importTimeout = 30 * time.Second

// load imports image archives, and returns when pods can use what they hold.
func (c Config) load(ctx context.Context, archives []string) error {
	for _, archive := range archives {
		if _, err := c.ctr(ctx, "images", "import", archive); err != nil {
			return fmt.Errorf("importing %s: %w", archive, err)
		}
	}
	err := poll(ctx, importTimeout, func(ctx context.Context) error {
		list, err := c.ctr(ctx, "images", "list")
		if err != nil {
			return err
		}
		return unmanagedImage(list)
	})
	if err != nil {
		return fmt.Errorf("waiting until the node knows the images: %w", err)
	}
	return nil
}

// unmanagedImage is an error that names the first image, of those ctr lists, that Kubernetes does not know yet.
func unmanagedImage(list string) error {
	lines := strings.Split(list, "\n")
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.Contains(line, managedLabel) {
			return fmt.Errorf("containerd has not announced image %s", fields[0])
		}
	}
	return nil
}

func (c Config) ctr(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "ctr", append([]string{"--address", c.ContainerdSocket(), "--namespace", "k8s.io"}, args...)...)
}

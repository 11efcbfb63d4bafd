package deploy

import (
	"context"
	"fmt"
	"strings"
)

// What the manifests of the operator call it.
const (
	Namespace  = "loom-operator-system"
	Deployment = "loom-operator"
)

// builtAnnotation on the operator's Deployment has the digest of the image
// that its pods were started from.
const builtAnnotation = "loom.beyond10x.dev/built-image"

// manifests are what `loom-operator install` prints for the images. The program
// is built as its image is, so that hardly anything is compiled for it again.
func (c Cluster) manifests(ctx context.Context, images Images) (string, error) {
	text, err := run(ctx, process{dir: c.root, env: []string{"CGO_ENABLED=0", "GOWORK=off"}},
		"go", "run", "-trimpath", "-buildvcs=false", ".", "install",
		"--image", images.Operator.Reference, "--agent-image", images.Agent.Reference)
	if err != nil {
		return "", fmt.Errorf("print the manifests: %w", err)
	}
	return text, nil
}

// Install applies the manifests and waits until the operator is available. An
// image that was built anew under the same name is started by a restart, since
// its Deployment has not changed.
func (c Cluster) Install(ctx context.Context, images Images) error {
	text, err := c.manifests(ctx, images)
	if err != nil {
		return err
	}
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Pipe(ctx, text, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("apply the manifests: %w", err)
	}
	if err := c.restart(ctx, running, images.Operator.Digest); err != nil {
		return err
	}
	if _, err := c.Run(ctx, "wait", "--for=condition=Established", "--timeout=30s", "crd/loomagents.loom.beyond10x.dev"); err != nil {
		return fmt.Errorf("wait until the API server knows LoomAgents: %w", err)
	}
	if _, err := c.Run(ctx, "rollout", "status", "deployment/"+Deployment, "--namespace", Namespace, "--timeout=2m"); err != nil {
		return fmt.Errorf("wait until the operator is available: %w\n%s", err, c.Diagnose(ctx, Namespace))
	}
	return nil
}

// running describes the operator that is deployed and the image that it was
// started from; empty when there is none.
func (c Cluster) running(ctx context.Context) (string, error) {
	key := strings.ReplaceAll(builtAnnotation, ".", `\.`)
	found, err := c.Run(ctx, "get", "deployment", Deployment, "--namespace", Namespace, "--ignore-not-found",
		"--output=jsonpath={.metadata.name}@{.metadata.annotations."+key+"}")
	if err != nil {
		return "", fmt.Errorf("look for an operator that runs: %w", err)
	}
	return found, nil
}

// restart records the digest of the image that was built, if one was, and
// starts new pods when those that run are not of it.
func (c Cluster) restart(ctx context.Context, running, built string) error {
	if built == "" || running == Deployment+"@"+built {
		return nil
	}
	if running != "" {
		if _, err := c.Run(ctx, "rollout", "restart", "deployment/"+Deployment, "--namespace", Namespace); err != nil {
			return fmt.Errorf("start the new image of the operator: %w", err)
		}
	}
	_, err := c.Run(ctx, "annotate", "--overwrite", "deployment/"+Deployment, "--namespace", Namespace, builtAnnotation+"="+built)
	if err != nil {
		return fmt.Errorf("record the image of the operator: %w", err)
	}
	return nil
}

// Diagnose shows what is there to see when something did not happen.
func (c Cluster) Diagnose(ctx context.Context, namespace string) string {
	text := ""
	for _, args := range [][]string{
		{"get", "loomagents,deployments,jobs,cronjobs,pods", "--output=wide"},
		{"get", "events", "--sort-by=.metadata.creationTimestamp"},
	} {
		shown, err := c.Run(ctx, append(args, "--namespace", namespace)...)
		if err != nil {
			shown += err.Error()
		}
		text += shown + "\n"
	}
	return text
}

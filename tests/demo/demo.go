package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/beyond10x/loom-operator/tests/deploy"
)

// demo is one telling of the story.
type demo struct {
	story
	options
	root     string // of the repository
	progress io.Writer
	cluster  deploy.Cluster
}

func (d *demo) up(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		d.start, d.provideImages, d.install, d.apply, d.await, d.verify, d.call, d.present,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) start(ctx context.Context) (err error) {
	if d.existing {
		d.step("Finding the cluster that KUBECONFIG names")
		d.cluster, err = deploy.Existing(ctx, d.root, d.progress)
		return err
	}
	d.step("Starting a Kubernetes cluster on this machine (the first time it is built, which takes about ten minutes)")
	d.cluster, err = deploy.Start(ctx, d.root, d.progress)
	return err
}

// provideImages builds the images, or relies on the names that the flags give.
func (d *demo) provideImages(ctx context.Context) (err error) {
	if d.cluster.Loads() {
		d.step("Building the images of the operator and of the sample agent, and loading them into the node")
		d.images, err = d.cluster.Build(ctx)
		return err
	}
	if d.images.Operator.Reference == "" || d.images.Agent.Reference == "" {
		return errors.New("images that are built here cannot be loaded into this cluster. Push both to a registry that its nodes reach (make image builds them), and name them: cd tests && go run ./demo up --cluster existing --image NAME --agent-image NAME")
	}
	d.step("Nothing is built: the nodes pull %s and %s", d.images.Operator.Reference, d.images.Agent.Reference)
	return nil
}

func (d *demo) install(ctx context.Context) error {
	d.step("Deploying the operator: loom-operator install | kubectl apply -f -")
	if err := d.cluster.Install(ctx, d.images); err != nil {
		return err
	}
	pods, err := d.cluster.Run(ctx, "get", "pods", "--namespace", deploy.Namespace)
	d.show(pods)
	return err
}

// apply creates the namespace, which enforces the strictest Pod Security level,
// and the samples just as they are in config/samples. The scheduled one then
// gets a schedule that does not take a day to be seen.
func (d *demo) apply(ctx context.Context) error {
	d.step("Applying the four samples to a namespace that enforces Pod Security level restricted")
	if _, err := d.cluster.Pipe(ctx, namespaceManifest, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("make namespace %s: %w", namespace, err)
	}
	if err := d.kubectl(ctx, "apply", "-f", "config/samples", "-f", "config/samples/refused"); err != nil {
		return err
	}
	d.step("Letting %s run every minute instead of once a day", scheduled)
	return d.kubectl(ctx, "patch", "loomagent", scheduled, "--type=merge", `--patch={"spec":{"schedule":{"cron":"* * * * *"}}}`)
}

// kubectl shows a command, runs it for the samples' namespace, from the root of
// the repository, and shows what it prints.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	d.show("$ kubectl -n " + namespace + " " + quoted(args))
	printed, err := d.cluster.Run(ctx, append([]string{"--namespace", namespace}, args...)...)
	d.show(printed)
	return err
}

func (d *demo) down(ctx context.Context) (err error) {
	if !d.existing {
		d.step("Stopping the cluster")
		if err := deploy.Stop(ctx, d.root, d.progress); err != nil {
			return err
		}
		d.step("Stopped. Nothing of it is left but the programs that were built, in .cache")
		return nil
	}
	if d.cluster, err = deploy.Existing(ctx, d.root, d.progress); err != nil {
		return err
	}
	d.step("Removing the namespace of the samples, %s", namespace)
	if _, err := d.cluster.Run(ctx, "delete", "namespace", namespace, "--ignore-not-found"); err != nil {
		return fmt.Errorf("remove namespace %s: %w", namespace, err)
	}
	d.step("Removed. The operator stays, since others may use it; make undeploy removes it")
	return nil
}

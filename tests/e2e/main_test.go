// Package e2e follows the user's path on a real node, with the operator
// deployed as Pods: two replicas, with the image, the service account and the
// permissions that `loom-operator install` gives them.
//
// It needs what tests/cluster needs, and fails where it cannot run. The
// environment variable IDLE sets how long TestIdleAgentsCauseNoWrite watches.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/beyond10x/loom-operator/tests/deploy"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// patience is how long anything may take that is not waiting for a clock. It
// is long, since the tests share a small machine with each other.
const patience = 2 * time.Minute

// cluster is the cluster "loom", to look at and to write to; kube reaches it
// with kubectl, as a user does; images are those in its node.
var (
	cluster *harness.Cluster
	kube    deploy.Cluster
	images  deploy.Images
)

// atOnce is how many tests run side by side. They wait most of the time, so it
// is not a matter of how many processors there are.
const atOnce = "16"

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	flag.Parse()
	if err := errors.Join(flag.Set("test.parallel", atOnce), install(context.Background())); err != nil {
		fmt.Fprintf(os.Stderr, "the operator could not be deployed: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func install(ctx context.Context) (err error) {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if kube, err = deploy.Start(ctx, root, os.Stderr); err != nil {
		return err
	}
	if images, err = kube.Build(ctx); err != nil {
		return err
	}
	if err := kube.Install(ctx, images); err != nil {
		return err
	}
	cluster, err = harness.Up(ctx, deploy.Name, 1)
	return err
}

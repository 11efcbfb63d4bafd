// Command loom-scorecard runs one test on the bundle that scorecard mounts at
// /bundle. It prints the result as JSON and nothing else: scorecard takes the
// whole log of the pod, standard error included, for the result.
//
// Called as tar it unpacks the bundle, so that its image also does for the
// option --untar-image of operator-sdk scorecard.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/beyond10x/loom-operator/internal/scorecard"
)

const mounted = "/bundle"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "tar" {
		return untar(args[1:])
	}
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	return json.NewEncoder(stdout).Encode(test(ctx, args, mounted))
}

// test runs the test that the only argument names.
func test(ctx context.Context, args []string, root string) v1alpha3.TestStatus {
	return scorecard.Run(ctx, strings.Join(args, " "), root, scorecard.InCluster)
}

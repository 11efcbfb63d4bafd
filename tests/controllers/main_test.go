// Package controllers_test runs the operator's own binary, with the
// permissions of config/rbac, against a real API server and real controllers.
// There is no node: what a kubelet would write into the status of pods is
// written by the tests. A number such as A01 in a test's name is a case of the
// bug reports that the project was built against.
package controllers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// sharedCluster has one operator for all of its namespaces, so it is this
// package's own.
const sharedCluster = "controllers"

// parallel is how many tests run at once. They wait most of the time, so it has
// nothing to do with the number of processors.
const parallel = "24"

// shared is the cluster with the operator that most tests use.
var shared *harness.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	if shared, err = harness.Up(ctx, sharedCluster, 0); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "loom-controllers-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	operator, err := harness.RunOperator(ctx, shared, dir, "")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, operator.Close()) }()
	if err := operator.AwaitWorking(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

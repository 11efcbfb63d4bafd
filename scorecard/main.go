// Command loom-scorecard runs one test on the bundle that scorecard mounts at
// /bundle. It prints the result as JSON and nothing else: scorecard takes the
// whole log of the pod for the result.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"

	"github.com/beyond10x/loom-operator/internal/scorecard"
)

const mounted = "/bundle"

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(run(os.Args[1:], mounted)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the test that the only argument names.
func run(args []string, root string) v1alpha3.TestStatus {
	return scorecard.Run(strings.Join(args, " "), root)
}

// Command loom-operator runs AI agents on Kubernetes, one LoomAgent each.
package main

import (
	"os"

	_ "time/tzdata" // Time zones come from here, never from the host (case A14).

	"github.com/beyond10x/loom-operator/internal/cli"
)

// version is set when an image is built.
var version = "dev"

func main() {
	os.Exit(cli.Run(version, os.Args[1:], os.Stdout, os.Stderr))
}

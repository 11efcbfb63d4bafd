// Command cluster brings up a real Kubernetes for tests and demos: the programs are built from Go modules, the
// containers run on Debian's containerd. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// adminPath is where Debian keeps ip and nft; an ordinary user's PATH lacks it.
const adminPath = ":/usr/sbin:/sbin"

func main() {
	if err := os.Setenv("PATH", os.Getenv("PATH")+adminPath); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

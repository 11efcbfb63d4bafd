// Package cli is the command line of loom-operator.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of check and render. Every command ends with 0 or 2, except
// that check and render end with 1 when a document is refused.
const (
	exitAccepted = 0
	exitRefused  = 1
	exitNotRun   = 2
)

// errRefused ends a command whose answer is no. The answer is printed already.
var errRefused = errors.New("refused")

// Run runs the command line and returns the exit code.
func Run(version string, args []string, stdout, stderr io.Writer) int {
	root := newRoot(version)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.Execute(); {
	case err == nil:
		return exitAccepted
	case errors.Is(err, errRefused):
		return exitRefused
	default:
		fmt.Fprintf(stderr, "loom-operator: %v\n", err)
		return exitNotRun
	}
}

func newRoot(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "loom-operator",
		Short:         "Run AI agents on Kubernetes, one LoomAgent each",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newManager(), newCheck(version), newRender(version), newInstall(version), newVersion(version))
	return root
}

func newVersion(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}

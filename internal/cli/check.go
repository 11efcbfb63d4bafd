package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beyond10x/loom-operator/internal/check"
)

func newCheck(version string) *cobra.Command {
	flags := &documentFlags{}
	cmd := &cobra.Command{
		Use:   "check -f FILE...",
		Short: "Give the operator's verdict on documents, without a cluster",
		Long: `Give the operator's verdict on documents, without a cluster.

Exit code 0: every document is accepted. 1: at least one is refused.
2: the check could not run, for instance because a file cannot be read.`,
		Example: "  loom-operator check -f agent.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			documents, err := flags.read(cmd, args)
			if err != nil {
				return err
			}
			refused := false
			for _, d := range documents {
				report := check.Run(check.Input{Agent: d.agent, DefaultImage: flags.image})
				refused = refused || report.ExitCode() != 0
				if _, err := fmt.Fprint(cmd.OutOrStdout(), verdict(d, report)); err != nil {
					return err
				}
			}
			if refused {
				return errRefused
			}
			return nil
		},
	}
	flags.add(cmd, version)
	return cmd
}

// verdict tells one document's verdict, with a line for each finding.
func verdict(d document, report check.Report) string {
	if report.ExitCode() == 0 {
		return fmt.Sprintf("%s: LoomAgent %s accepted\n", d.source, d.agent.Name)
	}
	findings := strings.ReplaceAll(report.Message(), "\n", "\n  ")
	return fmt.Sprintf("%s: LoomAgent %s refused\n  %s\n", d.source, d.agent.Name, findings)
}

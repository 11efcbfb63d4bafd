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

A document that the operator would accept is also judged by the schema of the
API, as an API server does before it stores it. Lists, such as those that
kubectl get prints, are judged item by item.

Exit code 0: every document is accepted. 1: at least one is refused.
2: the check could not run, for instance because a file cannot be read.`,
		Example: "  loom-operator check -f agent.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			documents, err := flags.read(cmd, args)
			if err != nil {
				return err
			}
			schema, err := readSchema()
			if err != nil {
				return err
			}
			refused := false
			for _, d := range documents {
				report := d.judge(schema, flags.image)
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

// judge gives the operator's verdict or, where that is good, the API server's:
// of what both refuse, the operator has the better words.
func (d document) judge(schema *crdSchema, image string) check.Report {
	report := check.Run(check.Input{Agent: d.agent, DefaultImage: image})
	if report.ExitCode() == 0 {
		report.Findings = schema.findings(d.written)
	}
	return report
}

// verdict tells one document's verdict, with a line for each finding.
func verdict(d document, report check.Report) string {
	if report.ExitCode() == 0 {
		return fmt.Sprintf("%s: LoomAgent %s accepted\n", d.source, d.agent.Name)
	}
	findings := strings.ReplaceAll(report.Message(), "\n", "\n  ")
	return fmt.Sprintf("%s: LoomAgent %s refused\n  %s\n", d.source, d.agent.Name, findings)
}

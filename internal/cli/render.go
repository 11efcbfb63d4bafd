package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/internal/workload"
)

func newRender(version string) *cobra.Command {
	flags := &documentFlags{}
	cmd := &cobra.Command{
		Use:   "render -f FILE...",
		Short: "Print the objects that the operator would create, without a cluster",
		Long: `Print the objects that the operator would create, without a cluster.

A document that the check refuses is not rendered: its findings are printed and
the exit code is 1. What only a cluster gives is left out: owner references, the
annotation with the digest of what was applied, and the digest of referenced
Secrets and ConfigMaps. The name of a command's Job depends on the UID and the
generation that the API server gives; a file without them renders as one that
has neither.`,
		Example: "  loom-operator render -f agent.yaml",
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
				if report.ExitCode() != 0 {
					refused = true
					if _, err := fmt.Fprint(cmd.ErrOrStderr(), verdict(d, report)); err != nil {
						return err
					}
					continue
				}
				if err := render(cmd, workload.Input{Agent: d.agent, DefaultImage: flags.image}); err != nil {
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

func render(cmd *cobra.Command, in workload.Input) error {
	for _, child := range workload.Children(in) {
		text, err := manifest(child)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// manifest writes an object as YAML, without the empty status that its Go type
// would print: a status is not for manifests.
func manifest(object workload.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("write %T %q: %w", object, object.GetName(), err)
	}
	delete(fields, "status")
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write %T %q: %w", object, object.GetName(), err)
	}
	return text, nil
}

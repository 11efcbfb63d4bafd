package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/build"
	"github.com/beyond10x/loom-operator/tests/cluster/internal/cluster"
)

const defaultName = "loom"

// selection is what the flags shared by all commands choose.
type selection struct {
	name string
	dir  string
}

// manager finds the directories that the flags and the environment name.
func (s *selection) manager(cmd *cobra.Command) (*cluster.Manager, error) {
	layout, err := cluster.FindLayout(s.dir)
	if err != nil {
		return nil, err
	}
	return &cluster.Manager{Layout: layout, Progress: cmd.ErrOrStderr()}, nil
}

func command() *cobra.Command {
	var chosen selection
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "Run a real Kubernetes on this machine, without downloads beyond Go modules and Debian packages",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&chosen.name, "name", defaultName, "name of the cluster")
	root.PersistentFlags().StringVar(&chosen.dir, "dir", "",
		"directory that holds one folder for each running cluster (default <repository>/.cache/cluster/run)")
	root.AddCommand(
		upCommand(&chosen), downCommand(&chosen), statusCommand(&chosen), kubeconfigCommand(&chosen),
		loadCommand(&chosen), restartCommand(&chosen), buildCommand(&chosen),
	)
	return root
}

func upCommand(chosen *selection) *cobra.Command {
	options := cluster.Options{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, building what is missing, and print the path of its kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			options.Name = chosen.name
			kubeconfig, err := manager.Up(cmd.Context(), options)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), kubeconfig)
			return err
		},
	}
	cmd.Flags().IntVar(&options.Nodes, "nodes", 1, "nodes that run pods: 1 (needs root) or 0 (API server and controllers only)")
	cmd.Flags().BoolVar(&options.ControllerManager, "controller-manager", true, "run kube-controller-manager; only --nodes 0 can do without")
	return cmd
}

func downCommand(chosen *selection) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove everything it left on the machine, except the built programs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			if all {
				return manager.DownAll(cmd.Context())
			}
			return manager.Down(cmd.Context(), chosen.name)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every cluster in the directory")
	return cmd
}

func statusCommand(chosen *selection) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs: versions, kubeconfig, node, processes and their logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			status, err := manager.Status(cmd.Context(), chosen.name)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			case "text":
				return printStatus(cmd.OutOrStdout(), status)
			default:
				return fmt.Errorf("--output must be text or json, not %q", output)
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func printStatus(out io.Writer, status cluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "name:\t%s\nrunning:\t%t\nserver:\t%s\nkubeconfig:\t%s\n", status.Name, status.Running, status.Server, status.Kubeconfig)
	fmt.Fprintf(table, "kubernetes:\t%s\netcd:\t%s\nnode:\t%s\n\n", status.Versions.Kubernetes, status.Versions.Etcd, status.Node)
	fmt.Fprintln(table, "COMPONENT\tPID\tRUNNING\tLOG")
	for _, process := range status.Processes {
		fmt.Fprintf(table, "%s\t%d\t%t\t%s\n", process.Name, process.PID, process.Running, process.Log)
	}
	return table.Flush()
}

func kubeconfigCommand(chosen *selection) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the kubeconfig of a running cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			kubeconfig, err := manager.Kubeconfig(chosen.name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), kubeconfig)
			return err
		},
	}
}

func loadCommand(chosen *selection) *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE...",
		Short: "Import image archives (docker or OCI format) into the node",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			return manager.Load(cmd.Context(), chosen.name, archives)
		},
	}
}

func restartCommand(chosen *selection) *cobra.Command {
	return &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "Stop one component, start it again with the same arguments, and wait until it serves",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, components []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			return manager.Restart(cmd.Context(), chosen.name, components[0])
		},
	}
}

func buildCommand(chosen *selection) *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the programs of the cluster, without starting anything",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := chosen.manager(cmd)
			if err != nil {
				return err
			}
			_, err = build.Ensure(cmd.Context(), manager.Layout.Module, manager.Layout.Bin, cmd.ErrOrStderr())
			return err
		},
	}
}

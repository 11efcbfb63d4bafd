package cli

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/config"
)

const (
	repository     = "ghcr.io/beyond10x"
	deploymentFile = "manager/deployment.yaml"
)

type installFlags struct{ image, agentImage string }

func newInstall(version string) *cobra.Command {
	flags := &installFlags{}
	cmd := &cobra.Command{
		Use:     "install",
		Short:   "Print the manifests of this version, for kubectl apply -f -",
		Example: "  loom-operator install | kubectl apply -f -",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.print(cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&flags.image, "image", repository+"/loom-operator:"+version, "Image of the operator")
	cmd.Flags().StringVar(&flags.agentImage, "agent-image", agentImage(version), "Image of agents that name none")
	return cmd
}

// print writes the manifests in an order in which they can be applied at once.
func (f *installFlags) print(out io.Writer) error {
	files, err := manifests("manager/namespace.yaml", "crd", "rbac", "manager")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := config.Files.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		if file == deploymentFile {
			if text, err = f.withImages(text); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "---\n%s", strings.TrimPrefix(string(text), "---\n")); err != nil {
			return err
		}
	}
	return nil
}

// manifests lists files and the contents of folders, each once and without
// those that only kustomize reads.
func manifests(roots ...string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	for _, root := range roots {
		err := fs.WalkDir(config.Files, root, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || seen[file] || path.Base(file) == "kustomization.yaml" {
				return err
			}
			seen[file] = true
			files = append(files, file)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the manifests: %w", err)
		}
	}
	return files, nil
}

func (f *installFlags) withImages(text []byte) ([]byte, error) {
	deployment := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(text, deployment); err != nil {
		return nil, fmt.Errorf("read the Deployment: %w", err)
	}
	container := &deployment.Spec.Template.Spec.Containers[0]
	container.Image = f.image
	for i := range container.Env {
		if container.Env[i].Name == agentImageVariable {
			container.Env[i] = corev1.EnvVar{Name: agentImageVariable, Value: f.agentImage}
		}
	}
	return manifest(deployment)
}

// agentImage is the agent image that belongs to a version of the operator.
func agentImage(version string) string { return repository + "/loom-agent:" + version }

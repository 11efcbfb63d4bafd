package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The images that config names, since its manifests belong to no release.
const (
	unreleasedOperator = "ghcr.io/beyond10x/loom-operator:dev"
	unreleasedAgent    = "ghcr.io/beyond10x/loom-agent:dev"
)

// manifests are for `kubectl apply -f`: the installation for all namespaces,
// the one for a single namespace, and the CRD that the latter needs. They name
// the images by digest.
func (w writer) manifests(_ context.Context, folder string, built images) error {
	pin := strings.NewReplacer(unreleasedOperator, pinned(built.operator), unreleasedAgent, pinned(built.agent))
	for file, source := range map[string]string{"install.yaml": "default", "install-namespaced.yaml": "namespaced", "crd.yaml": "crd"} {
		rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(w.root, "config", source))
		if err != nil {
			return fmt.Errorf("render config/%s: %w", source, err)
		}
		text, err := rendered.AsYaml()
		if err != nil {
			return fmt.Errorf("render config/%s: %w", source, err)
		}
		if err := write(filepath.Join(folder, file), []byte(pin.Replace(string(text)))); err != nil {
			return err
		}
	}
	return nil
}

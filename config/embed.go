// Package config holds the manifests that install the operator.
package config

import "embed"

// Files are the manifests, by their path below this folder.
//
//go:embed crd/*.yaml rbac/*.yaml manager/*.yaml
var Files embed.FS

package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/mod/modfile"
)

const rootModule = "github.com/beyond10x/loom-operator"

// FindRoot returns the root of the repository that holds dir.
func FindRoot(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the root of the repository: %w", err)
	}
	for folder := absolute; ; folder = filepath.Dir(folder) {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("finding the root of the repository: %w", err)
		}
		if modfile.ModulePath(text) == rootModule {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("neither %s nor a folder above it holds the module %s", absolute, rootModule)
		}
	}
}

// compile builds the program statically for a platform and returns its bytes.
func (p Program) compile(ctx context.Context, root, version string, platform v1.Platform) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "loom-image-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for %s: %w", p.name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	output := filepath.Join(dir, p.name)
	build := exec.CommandContext(ctx, "go", p.buildArgs(version, output)...)
	build.Dir = filepath.Join(root, p.module)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s for %s: %w:\n%s", p.name, platform, err, out)
	}
	binary, err := os.ReadFile(output)
	if err != nil {
		return nil, fmt.Errorf("reading the program that was built: %w", err)
	}
	return binary, nil
}

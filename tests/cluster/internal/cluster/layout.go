// Package cluster starts, inspects and stops real Kubernetes clusters on this machine.
//
// A cluster is one directory and the processes that the state file in it records. A node adds a network interface and a
// mount namespace. Everything names the directory, so that it can be found and removed even when the state file is
// lost.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// cacheVariable names the directory to use in place of <repository>/.cache, so that several clones can share
// their built programs.
const cacheVariable = "LOOM_CACHE_DIR"

// Layout says where everything is. All paths are absolute.
type Layout struct {
	Module string // this Go module
	Bin    string // built programs
	Runs   string // one directory for each cluster, named after it
}

// FindLayout finds the repository that holds the working directory. An empty runs means the default.
func FindLayout(runs string) (Layout, error) {
	repository, err := findRepository()
	if err != nil {
		return Layout{}, err
	}
	cache := os.Getenv(cacheVariable)
	if cache == "" {
		cache = filepath.Join(repository, ".cache")
	}
	if runs == "" {
		runs = filepath.Join(cache, "cluster", "run")
	}
	layout := Layout{Module: filepath.Join(repository, "tests", "cluster")}
	if layout.Runs, err = filepath.Abs(runs); err != nil {
		return Layout{}, fmt.Errorf("directory of clusters: %w", err)
	}
	if layout.Bin, err = filepath.Abs(filepath.Join(cache, "cluster", "bin")); err != nil {
		return Layout{}, fmt.Errorf("directory of programs: %w", err)
	}
	return layout, nil
}

func findRepository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "tests", "cluster", "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("finding the repository: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository: no parent has tests/cluster/go.mod", start)
		}
	}
}

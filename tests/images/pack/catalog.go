// Package pack builds the images of this project from source, without Docker,
// as archives that containerd, podman and a registry client can take.
package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	registry = "ghcr.io/beyond10x"
	source   = "https://github.com/beyond10x/loom-operator"
	license  = "Apache-2.0"
	// user is the number that images without a user database use for nobody. A
	// number is needed: the kubelet cannot tell that a name is not root's.
	user = "65532:65532"
)

// Program is a Go program that becomes an image of its own.
type Program struct {
	name   string // of the program, its image and its archive
	module string // folder of its Go module, from the root of the repository
	pkg    string // its package, from the folder of its module
}

var programs = map[string]Program{
	"operator":  {name: "loom-operator", module: ".", pkg: "."},
	"agent":     {name: "loom-agent", module: "tests", pkg: "./agent"},
	"scorecard": {name: "loom-scorecard", module: ".", pkg: "./scorecard"},
}

// Find looks up a program by its short name: operator, agent or scorecard.
func Find(short string) (Program, error) {
	program, found := programs[short]
	if !found {
		known := strings.Join(slices.Sorted(maps.Keys(programs)), ", ")
		return Program{}, fmt.Errorf("there is no image %q: the images are %s", short, known)
	}
	return program, nil
}

// Name is that of the program, its image and its archive.
func (p Program) Name() string { return p.name }

// Reference is the full name of the program's image. Pods use exactly this
// text, and never pull an image that the node already has under it.
func (p Program) Reference(version string) string {
	return registry + "/" + p.name + ":" + version
}

// Config is what a container of the image starts with. The commit is not among
// its labels: the digest would then change with every commit, also with the one
// that records the digest in the bundle, and no commit could name the digests
// of its own images. docs/releasing.md says how to find the source of an image.
func (p Program) Config(version string) v1.Config {
	return v1.Config{
		User:       user,
		Entrypoint: []string{"/" + p.name},
		Labels: map[string]string{
			"org.opencontainers.image.title":    p.name,
			"org.opencontainers.image.source":   source,
			"org.opencontainers.image.licenses": license,
			"org.opencontainers.image.version":  version,
		},
	}
}

// buildArgs are the arguments of go that build the program into the file
// output, the same bytes each time for the same source. No build stamp is
// wanted, for the reason that Config gives.
func (p Program) buildArgs(version, output string) []string {
	return []string{
		"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + version, "-o", output, p.pkg,
	}
}

// ParsePlatforms reads a list of platforms, such as linux/amd64,linux/arm64.
func ParsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for text := range strings.SplitSeq(list, ",") {
		platform, err := v1.ParsePlatform(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", text, err)
		}
		if platform.OS != "linux" || platform.Architecture == "" || platform.Variant != "" || platform.OSVersion != "" {
			return nil, fmt.Errorf("platform %q: write linux and an architecture, such as linux/amd64", text)
		}
		platforms = append(platforms, *platform)
	}
	return platforms, nil
}

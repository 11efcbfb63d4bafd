package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"
)

// ReleaseFile is where the release is recorded.
const ReleaseFile = "config/bundle/release.yaml"

// Release says what a release consists of.
type Release struct {
	// Version is a semantic version without a leading v.
	Version string `json:"version"`
	// Created is when the revision was committed, in RFC 3339.
	Created string `json:"created"`
	// Revision is the commit that the images were built from. It is a label
	// of the images and so a part of their digests.
	Revision string `json:"revision"`
	// Platforms are those of the images, as OS/ARCHITECTURE.
	Platforms []string `json:"platforms"`
	// Images are references by digest.
	Images Images `json:"images"`
}

// Images are the images of a release.
type Images struct {
	Operator string `json:"operator"`
	Agent    string `json:"agent"`
}

const releaseComment = `# What a release consists of. make bundle writes it, make generate reads it.
# The images were built from this revision, so it is always an earlier commit
# than the one that has this file.
`

var (
	pinned   = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$`)
	commit   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	platform = regexp.MustCompile(`^[a-z]+/[a-z0-9]+$`)
)

// ReadRelease reads config/bundle/release.yaml and checks it.
func ReadRelease(source fs.FS) (Release, error) {
	release, err := read[Release](source, ReleaseFile)
	if err != nil {
		return Release{}, err
	}
	if err := release.check(); err != nil {
		return Release{}, fmt.Errorf("%s: %w", ReleaseFile, err)
	}
	return release, nil
}

// check finds everything that makes a bundle that cannot be installed, or
// images that cannot be built again.
func (r Release) check() error {
	var found []error
	if _, err := semver.Parse(r.Version); err != nil {
		found = append(found, fmt.Errorf("version is %q, a semantic version such as 0.1.0 is needed: %w", r.Version, err))
	}
	if _, err := time.Parse(time.RFC3339, r.Created); err != nil {
		found = append(found, fmt.Errorf("created is %q, a time such as 2026-01-31T12:00:00Z is needed", r.Created))
	}
	if !commit.MatchString(r.Revision) {
		found = append(found, fmt.Errorf("revision is %q, a commit is needed; commit before you build a release", r.Revision))
	}
	if len(r.Platforms) == 0 {
		found = append(found, errors.New("platforms is empty, at least one such as linux/amd64 is needed"))
	}
	for _, p := range r.Platforms {
		if !platform.MatchString(p) {
			found = append(found, fmt.Errorf("platforms has %q, something such as linux/amd64 is needed", p))
		}
	}
	for name, image := range map[string]string{"images.operator": r.Images.Operator, "images.agent": r.Images.Agent} {
		if !pinned.MatchString(image) {
			found = append(found, fmt.Errorf("%s is %q, a reference by digest is needed: NAME@sha256:HEX", name, image))
		}
	}
	return errors.Join(found...)
}

// Record returns the text of config/bundle/release.yaml for a release whose
// images were just built. The lines are those that tests/images prints for
// operator and agent: archive, reference and digest, separated by tabs.
func Record(release Release, lines io.Reader) ([]byte, error) {
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		fields := strings.Split(scanner.Text(), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("the line %q does not have three fields: archive, reference and digest", scanner.Text())
		}
		name, _, _ := strings.Cut(fields[1][strings.LastIndex(fields[1], "/")+1:], ":")
		image := strings.TrimSuffix(fields[1], ":"+release.Version) + "@" + fields[2]
		switch name {
		case "loom-operator":
			release.Images.Operator = image
		case "loom-agent":
			release.Images.Agent = image
		default:
			return nil, fmt.Errorf("the image %s is no part of a release", fields[1])
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read the images that were built: %w", err)
	}
	if err := release.check(); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(release)
	return append([]byte(releaseComment), text...), err
}

func split(platform string) (system, architecture string) {
	system, architecture, _ = strings.Cut(platform, "/")
	return system, architecture
}

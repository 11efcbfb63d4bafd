package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
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
	// Replaces is the version that this one is installed over; empty for the
	// first release.
	Replaces string `json:"replaces,omitempty"`
	// Created is when the source was committed, in RFC 3339.
	Created string `json:"created"`
	// Platforms are those of the images, as OS/ARCHITECTURE.
	Platforms []string `json:"platforms"`
	// Images are references by digest.
	Images Images `json:"images"`
}

// Images are the images of a release.
type Images struct {
	Operator string `json:"operator"`
	Agent    string `json:"agent"`
	// Scorecard has the tests of the bundle. It is no part of an installation.
	Scorecard string `json:"scorecard"`
}

const releaseComment = `# What a release consists of. make bundle writes it, make generate reads it.
# The digests depend on the source, the version and the release of Go alone, so
# make bundle writes the same again from the commit that has this file.
`

var (
	pinned   = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$`)
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
	version, err := semver.Parse(r.Version)
	if err != nil {
		found = append(found, fmt.Errorf("version is %q, a semantic version such as 0.1.0 is needed: %w", r.Version, err))
	}
	if former, err := semver.Parse(r.Replaces); r.Replaces != "" && (err != nil || former.GE(version)) {
		found = append(found, fmt.Errorf("replaces is %q, a version below %s is needed", r.Replaces, r.Version))
	}
	if _, err := time.Parse(time.RFC3339, r.Created); err != nil {
		found = append(found, fmt.Errorf("created is %q, a time such as 2026-01-31T12:00:00Z is needed", r.Created))
	}
	if len(r.Platforms) == 0 {
		found = append(found, errors.New("platforms is empty, at least one such as linux/amd64 is needed"))
	}
	for _, p := range r.Platforms {
		if !platform.MatchString(p) {
			found = append(found, fmt.Errorf("platforms has %q, something such as linux/amd64 is needed", p))
		}
	}
	for name, image := range map[string]string{
		"images.operator": r.Images.Operator, "images.agent": r.Images.Agent, "images.scorecard": r.Images.Scorecard,
	} {
		if !pinned.MatchString(image) {
			found = append(found, fmt.Errorf("%s is %q, a reference by digest is needed: NAME@sha256:HEX", name, image))
		}
	}
	return errors.Join(found...)
}

// skipRange are the versions that may be upgraded to this one at once, beside
// the one that it replaces: those from the first of the replaced minor version
// on. It is bounded below, since upgrades from older ones are not tested.
func (r Release) skipRange() (string, error) {
	former, err := semver.Parse(r.Replaces)
	if err != nil {
		return "", fmt.Errorf("%s: replaces is %q: %w", ReleaseFile, r.Replaces, err)
	}
	return fmt.Sprintf(">=%d.%d.0 <%s", former.Major, former.Minor, r.Version), nil
}

// after returns the release as the one that follows a former one, which may be
// an earlier record of itself. A record whose images are the same keeps its
// time, so that recording a release twice changes nothing.
func (r Release) after(former Release) Release {
	if r.Version != former.Version {
		r.Replaces = former.Version
		return r
	}
	r.Replaces = former.Replaces
	if r.Images == former.Images && slices.Equal(r.Platforms, former.Platforms) {
		r.Created = former.Created
	}
	return r
}

// Record returns the text of config/bundle/release.yaml for a release whose
// images were just built. The former release is the one that the file had, or
// none. The lines are those that tests/images prints for operator, agent and
// scorecard: archive, reference and digest, separated by tabs.
func Record(release, former Release, lines io.Reader) ([]byte, error) {
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
		case "loom-scorecard":
			release.Images.Scorecard = image
		default:
			return nil, fmt.Errorf("the image %s is no part of a release", fields[1])
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read the images that were built: %w", err)
	}
	release = release.after(former)
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

package check

import (
	"regexp"
	"strings"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// The grammar of image references that container runtimes use, from
// https://pkg.go.dev/github.com/distribution/reference. The API server takes
// nearly any text, and the pod then stays at InvalidImageName.
var (
	imageDomain = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(:[0-9]+)?$`)
	imagePath   = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	imageTag    = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	imageDigest = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
	imageID     = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

const (
	maxRepositoryBytes = 255
	digestPrefix       = "sha256:"
)

func image(in Input) []Finding {
	ref := in.Agent.Spec.Image
	if ref != nil {
		return append(repository(*ref), tag(*ref)...)
	}
	if in.DefaultImage == "" {
		return []Finding{broken("spec.image", "No image is given and the operator has no default one. Give spec.image.")}
	}
	return nil
}

func repository(ref v1alpha1.ImageRef) []Finding {
	const field = "spec.image.repository"
	host, path := splitHost(ref.Repository)
	switch {
	case ref.Repository == "":
		return []Finding{broken(field, "The repository is empty. Give one, such as registry.example/team/agent.")}
	case strings.ContainsAny(path, ":@"):
		return []Finding{broken(field, "%s already has a tag or a digest. Move it to spec.image.tag.", quote(ref.Repository))}
	case len(ref.Repository) > maxRepositoryBytes:
		return []Finding{broken(field, "The repository has %d characters and at most %d are allowed. Use a shorter one.", len(ref.Repository), maxRepositoryBytes)}
	case host != "" && !imageDomain.MatchString(host), !imagePath.MatchString(path), imageID.MatchString(ref.Repository):
		return []Finding{broken(field, "%s is not a valid repository. Write a host and a path in lower-case letters and digits, such as registry.example/team/agent.", quote(ref.Repository))}
	}
	return nil
}

// splitHost takes the first part for a host when it looks like one, as
// container runtimes do; else the image comes from their default registry. They
// know localhost too, which is good as the first part of a path.
func splitHost(repository string) (host, path string) {
	first, rest, found := strings.Cut(repository, "/")
	if found && (strings.ContainsAny(first, ".:") || first != strings.ToLower(first)) {
		return first, rest
	}
	return "", repository
}

func tag(ref v1alpha1.ImageRef) []Finding {
	const field = "spec.image.tag"
	switch {
	case ref.Tag == "":
		return []Finding{broken(field, "The tag is empty. Give a tag, or a digest as sha256:HEX.")}
	case strings.HasPrefix(ref.Tag, digestPrefix) && !imageDigest.MatchString(ref.Tag):
		return []Finding{broken(field, "%s is not a digest. Write sha256: and 64 digits of 0-9 and a-f.", quote(ref.Tag))}
	case !strings.HasPrefix(ref.Tag, digestPrefix) && !imageTag.MatchString(ref.Tag):
		return []Finding{broken(field, "%s is not a valid tag. Use at most 128 letters, digits, '_', '.' and '-', and begin with a letter, digit or '_'.", quote(ref.Tag))}
	}
	return nil
}

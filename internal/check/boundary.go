package check

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

type upstream struct {
	field    string
	url      string
	audience string
}

// upstreams lists the blocks that are set, in the order of the API.
func upstreams(boundary *v1alpha1.Boundary) []upstream {
	var all []upstream
	if boundary == nil {
		return nil
	}
	if b := boundary.Model; b != nil {
		all = append(all, upstream{"spec.boundary.model", b.Upstream, b.Audience})
	}
	if b := boundary.Connectors; b != nil {
		all = append(all, upstream{"spec.boundary.connectors", b.Upstream, b.Audience})
	}
	if b := boundary.Git; b != nil {
		all = append(all, upstream{"spec.boundary.git", b.Upstream, b.Audience})
	}
	return all
}

// The URL is not repeated in the message: what is wrong with it may be a
// password.
func boundaryUpstream(in Input) []Finding {
	var found []Finding
	for _, upstream := range upstreams(in.Agent.Spec.Boundary) {
		if problem := urlProblem(upstream.url); problem != "" {
			found = append(found, broken(upstream.field+".upstream", "%s", problem))
		}
	}
	return found
}

func urlProblem(text string) string {
	if text == "" {
		return "The URL is empty. Give one, such as https://models.example."
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil, parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "":
		return "The value is not an absolute http or https URL with a host. Give one, such as https://models.example."
	case parsed.User != nil:
		return "The URL has a user or a password. Remove it: the agent shows a token of its own."
	case strings.Contains(text, "#"):
		return "The URL has a fragment, which no server ever sees. Remove it."
	case parsed.Port() != "" && !validPort(parsed.Port()):
		return "The port of the URL is not between 1 and 65535. Correct it."
	}
	return ""
}

func validPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

func boundaryAudience(in Input) []Finding {
	var found []Finding
	for _, upstream := range upstreams(in.Agent.Spec.Boundary) {
		if strings.TrimSpace(upstream.audience) == "" {
			found = append(found, broken(upstream.field+".audience", "The audience is empty. Give the one that the upstream accepts tokens for."))
		}
	}
	return found
}

// An empty list allows nothing and is good; a missing one may be a slip.
func boundaryList(in Input) []Finding {
	boundary := in.Agent.Spec.Boundary
	if boundary == nil {
		return nil
	}
	var found []Finding
	list := func(field, noun string, entries []string) {
		if entries == nil {
			found = append(found, broken(field, "The list is missing. Name each %s that is allowed, or give [] to allow none.", noun))
		}
		for i, entry := range entries {
			if strings.TrimSpace(entry) == "" {
				found = append(found, broken(fmt.Sprintf("%s[%d]", field, i), "The entry is empty. Name the %s or remove the entry.", noun))
			}
		}
	}
	if boundary.Connectors != nil {
		list("spec.boundary.connectors.operations", "operation", boundary.Connectors.Operations)
	}
	if boundary.Git != nil {
		list("spec.boundary.git.repositories", "repository", boundary.Git.Repositories)
	}
	return found
}

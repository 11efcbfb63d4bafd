package main

import (
	"math/rand/v2"
	"regexp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// trial is one property to be tried on one live agent.
type trial struct {
	property
	variant string
	// documents has the whole spec for each of values.
	values    []any
	documents []any
	random    *rand.Rand
}

// scope says how much is tried.
type scope struct {
	// only picks properties by their path.
	only *regexp.Regexp
	seed uint64
	// values is how many values of a property are tried; 0 means all.
	values int
	// brief tries each property on one variant only, and none of those that are
	// taken over from Kubernetes' own types.
	brief bool
}

// plan lists the trials.
func plan(schema apiextensionsv1.JSONSchemaProps, s scope) []trial {
	var trials []trial
	for i, p := range properties(nil, schema) {
		if s.only != nil && !s.only.MatchString(p.path.String()) || s.brief && p.kubernetes() {
			continue
		}
		homes := p.homes()
		if s.brief || len(p.path) > 1 {
			homes = homes[i%len(homes):][:1]
		}
		for _, variant := range homes {
			trials = append(trials, newTrial(p, variant, schema, s))
		}
	}
	return trials
}

func newTrial(p property, variant string, schema apiextensionsv1.JSONSchemaProps, s scope) trial {
	random := chance(s.seed, p.path.String()+variant)
	t := trial{property: p, variant: variant, random: random, values: fewer(p.values(), s.values, random)}
	for _, value := range t.values {
		t.documents = append(t.documents, place(base(variant), nil, schema, p.path, value))
	}
	return t
}

// kubernetes tells properties of types that are Kubernetes' own. There are many
// of them, and all take the same way into the pod.
func (p property) kubernetes() bool {
	if p.path.in("serve") {
		return len(p.path) > 3
	}
	return p.path.in("pod") && len(p.path) > 2 && (p.path[1] == "affinity" || p.path[1] == "tolerations" || p.path[1] == "topologySpreadConstraints")
}

// homes are the variants that a property means something to. Those of
// Kubernetes' own types are tried where a change costs least, without pods.
func (p property) homes() []string {
	switch {
	case p.kubernetes() && p.path.in("serve"):
		return []string{idle}
	case p.kubernetes():
		return []string{schedule}
	case p.path.in("serve"):
		return []string{serve}
	case p.path.in("run"):
		return []string{command, schedule}
	case p.path.in(command, schedule) && len(p.path) > 1:
		return []string{p.path[0]}
	default:
		return []string{serve, command, schedule}
	}
}

package workload

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// upstream is one upstream of the boundary as BoundaryFile shows it.
type upstream struct {
	Upstream     string   `json:"upstream"`
	Audience     string   `json:"audience"`
	TokenFile    string   `json:"tokenFile,omitzero"`
	Operations   []string `json:"operations,omitzero"`
	Repositories []string `json:"repositories,omitzero"`
}

// upstreams returns the boundary's upstreams by name. An allow-list that the
// document leaves out is empty: it allows nothing.
func upstreams(b *v1alpha1.Boundary) map[string]upstream {
	all := map[string]upstream{}
	if b == nil {
		return all
	}
	if u := b.Model; u != nil {
		all["model"] = upstream{Upstream: u.Upstream, Audience: u.Audience}
	}
	if u := b.Connectors; u != nil {
		all["connectors"] = upstream{
			Upstream: u.Upstream, Audience: u.Audience, Operations: append([]string{}, u.Operations...),
		}
	}
	if u := b.Git; u != nil {
		all["git"] = upstream{
			Upstream: u.Upstream, Audience: u.Audience, Repositories: append([]string{}, u.Repositories...),
		}
	}
	for name, u := range all {
		if u.Audience != "" {
			u.TokenFile = ConfigDir + "/" + TokensDir + "/" + name
			all[name] = u
		}
	}
	return all
}

// boundaryJSON renders the boundary for the agent, with the path of each token.
func boundaryJSON(b *v1alpha1.Boundary) string {
	text, _ := json.Marshal(upstreams(b)) // Strings always marshal.
	return string(text)
}

// tokens returns a projected token for each upstream, with exactly the
// upstream's audience. An empty audience gets none: to Kubernetes it would mean
// the API server's own.
func tokens(b *v1alpha1.Boundary) []corev1.VolumeProjection {
	var sources []corev1.VolumeProjection
	all := upstreams(b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Audience == "" {
			continue
		}
		sources = append(sources, corev1.VolumeProjection{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience:          all[name].Audience,
				ExpirationSeconds: new(TokenSeconds),
				Path:              TokensDir + "/" + name,
			},
		})
	}
	return sources
}

// upstreamPorts returns the ports of the boundary's upstreams, each once, in
// order. A URL that names no port and has no well-known one adds none.
func upstreamPorts(b *v1alpha1.Boundary) []int32 {
	var ports []int32
	for _, u := range upstreams(b) {
		if port, known := urlPort(u.Upstream); known {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// schemePorts are the ports of URLs that name none.
var schemePorts = map[string]int32{
	"http": 80, "https": 443, "ws": 80, "wss": 443, "ssh": 22, "git+ssh": 22, "git": 9418,
}

// urlPort returns the port of an upstream's URL and whether it has one.
func urlPort(text string) (int32, bool) {
	address, err := url.Parse(text)
	if err != nil {
		return 0, false // The check refuses it and says why.
	}
	if address.Port() == "" {
		port, known := schemePorts[address.Scheme]
		return port, known
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	return int32(port), err == nil && port > 0
}

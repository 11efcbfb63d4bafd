package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestBoundaryFileAndTokens(t *testing.T) {
	tests := map[string]struct {
		spec, file string
		audiences  map[string]string
	}{
		"one upstream": {
			spec:      `{boundary: {model: {upstream: "https://m.test?a=b", audience: m}}}`,
			file:      `{"model":{"upstream":"https://m.test?a=b","audience":"m","tokenFile":"/etc/loom/tokens/model"}}`,
			audiences: map[string]string{"tokens/model": "m"},
		},
		"an allow-list that is left out allows nothing": {
			spec: `{boundary: {connectors: {upstream: u, audience: c}, git: {upstream: u, audience: g, repositories: [r]}}}`,
			file: `{"connectors":{"upstream":"u","audience":"c","tokenFile":"/etc/loom/tokens/connectors","operations":[]},` +
				`"git":{"upstream":"u","audience":"g","tokenFile":"/etc/loom/tokens/git","repositories":["r"]}}`,
			audiences: map[string]string{"tokens/connectors": "c", "tokens/git": "g"},
		},
		"an empty audience would be the API server's": {
			spec: `{boundary: {model: {upstream: u, audience: ""}}}`,
			file: `{"model":{"upstream":"u","audience":""}}`,
		},
		"no upstream": {spec: "{boundary: {}}", file: "{}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := with(t, test.spec)
			assert.JSONEq(t, test.file, Config(in).Data[BoundaryFile])

			audiences := map[string]string{}
			pod := Deployment(in).Spec.Template.Spec
			for _, source := range configVolume(pod) {
				if token := source.ServiceAccountToken; token != nil {
					audiences[token.Path] = token.Audience
					assert.Equal(t, new(int64(3600)), token.ExpirationSeconds)
				}
			}
			assert.Len(t, audiences, len(test.audiences))
			assert.Subset(t, audiences, test.audiences)
			assert.Equal(t, new(false), pod.AutomountServiceAccountToken, "a boundary gives no API token")
		})
	}
}

// allowed lists what the rules let through as PROTOCOL/PORT.
func allowed(t *testing.T, rules ...[]networkingv1.NetworkPolicyPort) []string {
	t.Helper()
	var all []string
	for _, ports := range rules {
		require.NotEmpty(t, ports, "a rule without ports allows every port")
		for _, port := range ports {
			all = append(all, string(*port.Protocol)+"/"+port.Port.String())
		}
	}
	return all
}

func TestNetworkPolicyDeniesAllButDNSAndUpstreams(t *testing.T) {
	dns := []string{"UDP/53", "TCP/53", "UDP/5353", "TCP/5353"}
	tests := map[string]struct {
		spec            string
		egress, ingress []string
	}{
		"no upstream":           {spec: "{boundary: {}}", egress: dns, ingress: []string{"TCP/8080"}},
		"the serving port":      {spec: "{boundary: {}, serve: {port: 9}}", egress: dns, ingress: []string{"TCP/9"}},
		"a command takes none":  {spec: "{boundary: {}, command: {}}", egress: dns},
		"a schedule takes none": {spec: "{boundary: {}, schedule: {cron: x}}", egress: dns},
		"ports, each once, in order": {
			spec: `{command: {}, boundary: {model: {upstream: "https://m", audience: a},
				connectors: {upstream: "http://c:443", audience: a}, git: {upstream: "ssh://git@g/r", audience: a}}}`,
			egress: append(dns[:4:4], "TCP/22", "TCP/443"),
		},
		"an address without a port adds none": {
			spec: `{command: {}, boundary: {model: {upstream: "m.test", audience: a},
				connectors: {upstream: "git@g:r", audience: a}, git: {upstream: "https://g:99999", audience: a}}}`,
			egress: dns,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy := NetworkPolicy(with(t, test.spec))
			assert.ElementsMatch(t, []networkingv1.PolicyType{"Ingress", "Egress"}, policy.Spec.PolicyTypes)
			assert.Equal(t, map[string]string{"loom.beyond10x.dev/agent": "a"}, policy.Spec.PodSelector.MatchLabels)
			var egress, ingress [][]networkingv1.NetworkPolicyPort
			for _, rule := range policy.Spec.Egress {
				assert.Empty(t, rule.To)
				egress = append(egress, rule.Ports)
			}
			for _, rule := range policy.Spec.Ingress {
				assert.Empty(t, rule.From)
				ingress = append(ingress, rule.Ports)
			}
			assert.Equal(t, test.egress, allowed(t, egress...))
			assert.Equal(t, test.ingress, allowed(t, ingress...))
		})
	}
}

func TestNetworkPolicyIsOnlyForABoundaryAndCanBeOptedOut(t *testing.T) {
	assert.Nil(t, NetworkPolicy(with(t, "{}")))
	in := with(t, "{boundary: {}}")
	in.Agent.Annotations = map[string]string{"loom.beyond10x.dev/network-policy": "disabled"}
	assert.Nil(t, NetworkPolicy(in))
	in.Agent.Annotations = map[string]string{"loom.beyond10x.dev/network-policy": "anything else"}
	assert.NotNil(t, NetworkPolicy(in))
}

func TestURLPort(t *testing.T) {
	tests := map[string]int32{
		"https://a.test": 443, "http://a.test/x": 80, "wss://a": 443, "ws://a": 80, "git://a": 9418,
		"git+ssh://a": 22, "HTTPS://a": 443, "https://a:8443": 8443, "https://[::1]:65535/": 65535,
		"https://a:0": 0, "https://a:65536": 0, "https://a:x": 0, "ftp://a": 0, "": 0, "%": 0, "a:443": 0,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			port, known := urlPort(text)
			assert.Equal(t, want != 0, known)
			if known {
				assert.Equal(t, want, port)
			}
		})
	}
}

func TestSourcesOfTheConfigVolumeAreTheOnlyProjection(t *testing.T) {
	pod := Deployment(Input{Agent: fixture(t, "serve-full")}).Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Projected != nil {
			assert.Equal(t, volumeConfig, volume.Name)
			assert.Equal(t, new(corev1.ProjectedVolumeSourceDefaultMode), volume.Projected.DefaultMode)
		}
	}
}

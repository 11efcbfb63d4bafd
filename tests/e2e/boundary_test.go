package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// audiences are those of the upstreams, by the paths at which they are asked.
var audiences = map[string]string{"/model": "models.test", "/connectors": "connectors.test", "/git": "git.test"}

// upstreams is a server of the machine that takes the tokens of agents, as a
// gateway does: it asks the API server about each.
type upstreams struct {
	*httptest.Server
	t      *testing.T
	mutex  sync.Mutex
	tokens map[string]string
}

func startUpstreams(t *testing.T) *upstreams {
	t.Helper()
	var nodes corev1.NodeList
	require.NoError(t, cluster.Client.List(t.Context(), &nodes))
	require.NotEmpty(t, nodes.Items)
	i := slices.IndexFunc(nodes.Items[0].Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	require.NotEqual(t, -1, i)
	listener, err := net.Listen("tcp", net.JoinHostPort(nodes.Items[0].Status.Addresses[i].Address, "0"))
	require.NoError(t, err)
	u := &upstreams{t: t, tokens: map[string]string{}}
	u.Server = httptest.NewUnstartedServer(u)
	require.NoError(t, u.Listener.Close())
	u.Listener = listener
	u.Start()
	t.Cleanup(u.Close)
	return u
}

// ServeHTTP answers 200 to a token of the upstream's own audience.
func (u *upstreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	u.mutex.Lock()
	u.tokens[r.URL.Path] = token
	u.mutex.Unlock()
	if status := review(u.t, token, audiences[r.URL.Path]); !status.Authenticated {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// review asks the API server about a token. Without an audience it is about its
// own.
func review(t *testing.T, token string, audience ...string) authenticationv1.TokenReviewStatus {
	t.Helper()
	asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audience}}
	assert.NoError(t, cluster.Client.Create(t.Context(), asked))
	return asked.Status
}

func (u *upstreams) boundary() *v1alpha1.Boundary {
	return &v1alpha1.Boundary{
		Model:      &v1alpha1.BoundaryUpstream{Upstream: u.URL + "/model", Audience: audiences["/model"]},
		Connectors: &v1alpha1.ConnectorsBoundary{Upstream: u.URL + "/connectors", Audience: audiences["/connectors"], Operations: []string{"mail.send"}},
		Git:        &v1alpha1.GitBoundary{Upstream: u.URL + "/git", Audience: audiences["/git"], Repositories: []string{"team/one"}},
	}
}

// An agent reaches each upstream with the token that the pod was given for it.
// The token is for that upstream alone, and not for the Kubernetes API.
func TestTokensOfTheBoundaryAreEachForTheirUpstream(t *testing.T) {
	t.Parallel()
	upstreams := startUpstreams(t)
	spec := commandSpec("call")
	spec.Boundary = upstreams.boundary()
	agent := create(t, restricted(t), "caller", spec)
	await(t, agent, "has completed", inState(v1alpha1.StateCompleted))
	var answers map[string]struct {
		Status int
		Error  string
	}
	logLine(t, onePod(t, agent, "has succeeded", inPhase(corev1.PodSucceeded)), &answers)
	require.Len(t, answers, len(audiences))
	for path, audience := range audiences {
		answer := answers[strings.TrimPrefix(path, "/")]
		assert.Equal(t, http.StatusOK, answer.Status, "%s: %s", path, answer.Error)
		claims := claimsOf(t, upstreams.tokens[path])
		assert.Equal(t, []string{audience}, claims.Audience)
		assert.Equal(t, harness.UserOf(agent.Namespace, "default"), claims.Subject)
		assert.InDelta(t, 3600, claims.Expires-claims.Issued, 10)
		assert.False(t, review(t, upstreams.tokens[path]).Authenticated, "%s: it is no token for the API", path)
		for other, foreign := range audiences {
			assert.Equal(t, other == path, review(t, upstreams.tokens[path], foreign).Authenticated, "token of %s at %s", path, other)
		}
	}
	var configs corev1.ConfigMapList
	require.NoError(t, cluster.Client.List(t.Context(), &configs, client.InNamespace(agent.Namespace), client.MatchingLabels{v1alpha1.AgentLabel: agent.Name}))
	require.Len(t, configs.Items, 1)
	assert.JSONEq(t, fmt.Sprintf(`{
		"model": {"upstream": "%[1]s/model", "audience": "models.test", "tokenFile": "/etc/loom/tokens/model"},
		"connectors": {"upstream": "%[1]s/connectors", "audience": "connectors.test", "tokenFile": "/etc/loom/tokens/connectors", "operations": ["mail.send"]},
		"git": {"upstream": "%[1]s/git", "audience": "git.test", "tokenFile": "/etc/loom/tokens/git", "repositories": ["team/one"]}}`, upstreams.URL), configs.Items[0].Data["boundary.json"])
}

// claims are those of a service account token.
type claims struct {
	Audience []string `json:"aud"`
	Subject  string   `json:"sub"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
}

func claimsOf(t *testing.T, token string) claims {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3, "it is a JSON web token")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var known claims
	require.NoError(t, json.Unmarshal(text, &known))
	return known
}

// The policy is there before anything runs, and stays when the document is
// refused and everything else is removed.
func TestNetworkPolicyComesFirstAndStaysWhenTheDocumentIsRefused(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	upstream := &v1alpha1.BoundaryUpstream{Upstream: "https://models.example", Audience: "models"}
	for name, spec := range map[string]v1alpha1.LoomAgentSpec{"desk": servingSpec(), "notes": commandSpec("run", "--sleep=1h"), "digest": scheduleSpec(newYear)} {
		spec.Boundary = &v1alpha1.Boundary{Model: upstream}
		t.Run(name, func(t *testing.T) {
			agent := create(t, namespace, name, spec)
			await(t, agent, "has its workload", func(status v1alpha1.LoomAgentStatus) bool { return status.Workload != nil })
			before := &networkingv1.NetworkPolicy{}
			require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), before))
			assert.Equal(t, "networkpolicies", firstWrite(t, agent).Resource)

			patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"agent":{"schema":"loom.agent/2","model":"fast","instructions":"Help."}}}`))
			require.NoError(t, cluster.Client.Patch(t.Context(), agent, patch))
			await(t, agent, "is refused", func(status v1alpha1.LoomAgentStatus) bool {
				return status.State == v1alpha1.StateRefused && status.Workload == nil
			})
			after := &networkingv1.NetworkPolicy{}
			require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), after))
			assert.Equal(t, before.UID, after.UID)
			assert.Equal(t, before.Spec, after.Spec)
			assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, after.Spec.PolicyTypes)
			assert.NotEmpty(t, after.Spec.Egress)
		})
	}
}

// firstWrite is the first thing that the operator made for the agent.
func firstWrite(t *testing.T, agent *v1alpha1.LoomAgent) harness.Write {
	t.Helper()
	for _, write := range cluster.Writes(t, harness.OperatorUser(), agent.Namespace) {
		if strings.HasPrefix(write.Name, agent.Name) && !strings.HasPrefix(write.Resource, "loomagents") {
			return write
		}
	}
	require.FailNow(t, "the operator wrote nothing")
	return harness.Write{}
}

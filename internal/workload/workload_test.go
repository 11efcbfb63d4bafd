package workload

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testImage = "registry.test/default-agent:1"

// parse reads an agent from its YAML.
func parse(t testing.TB, text string) *v1alpha1.LoomAgent {
	t.Helper()
	agent := &v1alpha1.LoomAgent{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), agent))
	return agent
}

// fixture reads an agent from testdata.
func fixture(t testing.TB, name string) *v1alpha1.LoomAgent {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".agent.yaml"))
	require.NoError(t, err)
	return parse(t, string(text))
}

// with returns the input of an agent that has nothing but the given spec.
func with(t testing.TB, spec string) Input {
	t.Helper()
	return Input{Agent: parse(t, "metadata: {name: a, namespace: t, uid: u, generation: 1}\nspec: "+spec)}
}

var variants = []string{
	"serve-minimal", "serve-full", "command-minimal", "command-full", "schedule-minimal", "schedule-full",
}

func TestChildrenAreWhatTheGoldenFilesShow(t *testing.T) {
	for _, name := range variants {
		t.Run(name, func(t *testing.T) {
			in := Input{Agent: fixture(t, name), DefaultImage: testImage, ReferencesDigest: "0123abcd"}
			var documents []string
			for _, child := range Children(in) {
				document, err := yaml.Marshal(child)
				require.NoError(t, err)
				documents = append(documents, string(document))
			}
			got := strings.Join(documents, "---\n")

			golden := filepath.Join("testdata", name+".children.yaml")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

func TestChildrenComeInTheOrderTheyAreWritten(t *testing.T) {
	tests := map[string]struct {
		agent string
		kinds []string
	}{
		"serving agent with a boundary": {
			agent: "serve-full", kinds: []string{"NetworkPolicy", "ConfigMap", "Service", "Deployment"},
		},
		"serving agent":                 {agent: "serve-minimal", kinds: []string{"ConfigMap", "Service", "Deployment"}},
		"command with nothing to mount": {agent: "command-minimal", kinds: []string{"Job"}},
		"scheduled agent, also with a command": {
			agent: "schedule-full", kinds: []string{"NetworkPolicy", "ConfigMap", "CronJob"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var kinds []string
			for _, child := range Children(Input{Agent: fixture(t, test.agent)}) {
				kinds = append(kinds, child.GetObjectKind().GroupVersionKind().Kind)
				assert.NotEmpty(t, child.GetName())
				assert.Equal(t, "t", child.GetNamespace())
				assert.Empty(t, child.GetOwnerReferences(), "the caller sets the owner")
				assert.Empty(t, child.GetGenerateName(), "a name that is made up cannot be found again (A06)")
			}
			assert.Equal(t, test.kinds, kinds)
		})
	}
}

func TestA04NothingOfTheAgentsMetadataIsCopied(t *testing.T) {
	for _, name := range variants {
		t.Run(name, func(t *testing.T) {
			agent := fixture(t, name)
			agent.Labels = map[string]string{"argocd.argoproj.io/instance": "canary", "app.kubernetes.io/instance": "canary"}
			agent.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "canary"}
			agent.Finalizers = []string{"canary"}
			for _, child := range Children(Input{Agent: agent}) {
				text, err := yaml.Marshal(child)
				require.NoError(t, err)
				assert.NotContains(t, string(text), "canary")
			}
		})
	}
}

func TestImage(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"the operator's when none is named": {spec: "{}", want: testImage},
		"repository and tag":                {spec: `{image: {repository: r.test/a, tag: "1"}}`, want: "r.test/a:1"},
		"a digest is joined with an at sign": {
			spec: `{image: {repository: r.test/a, tag: "sha256:00ff"}}`, want: "r.test/a@sha256:00ff",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := with(t, test.spec)
			in.DefaultImage = testImage
			assert.Equal(t, test.want, Image(in))
			assert.Equal(t, test.want, Deployment(in).Spec.Template.Spec.Containers[0].Image)
		})
	}
}

func TestTTLIsOnlyGivenToTheCaller(t *testing.T) {
	agent := fixture(t, "command-full")
	assert.Equal(t, new(int32(60)), TTL(agent))
	assert.Nil(t, Job(Input{Agent: agent}).Spec.TTLSecondsAfterFinished, "A01: the end would be lost")
	assert.Nil(t, CronJob(Input{Agent: agent}).Spec.JobTemplate.Spec.TTLSecondsAfterFinished)
	assert.Nil(t, TTL(fixture(t, "command-minimal")))
	agent.Spec.Run.TTLSecondsAfterFinished = nil
	assert.Nil(t, TTL(agent))
}

package workload

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func named(name string) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "t", UID: types.UID("uid-of-" + name), Generation: 1,
	}}
}

// configured returns an agent that has a ConfigMap.
func configured(name string) *v1alpha1.LoomAgent {
	agent := named(name)
	agent.Spec.ConnectorsConfig = new("x")
	return agent
}

// childNames are the names that children get, with the longest that each may be
// and what it has to be besides a DNS subdomain.
var childNames = map[string]struct {
	of    func(string) string
	limit int
	valid func(string) []string
}{
	"Deployment":    {of: func(n string) string { return DeploymentName(named(n)) }, limit: 63},
	"NetworkPolicy": {of: func(n string) string { return NetworkPolicyName(named(n)) }, limit: 63},
	"Service": {
		of: func(n string) string { return ServiceName(named(n)) }, limit: 63, valid: validation.IsDNS1035Label,
	},
	"CronJob": {of: func(n string) string { return CronJobName(named(n)) }, limit: 52},
	"Job": {
		of: func(n string) string { return JobName(named(n)) }, limit: 63, valid: validation.IsValidLabelValue,
	},
	"ConfigMap": {of: func(n string) string { return Config(Input{Agent: configured(n)}).Name }, limit: 63},
	"label": {
		of:    func(n string) string { return Labels(named(n), ComponentServe)[v1alpha1.AgentLabel] },
		limit: 63, valid: validation.IsValidLabelValue,
	},
}

// agentNames are names that the API server accepts: edge cases, and random ones
// of every length, many of which share a long start.
func agentNames(t *testing.T) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	const inside = "abcdefghijklmnopqrstuvwxyz0123456789-."
	pick := func(length int) string {
		text := make([]byte, length)
		for i := range text {
			text[i] = inside[random.IntN(len(inside))]
		}
		return string(text)
	}
	start := strings.Repeat("shared-start.", 18)
	names := map[string]bool{}
	for range 20_000 {
		name := pick(1 + random.IntN(253))
		if random.IntN(2) == 0 {
			name = (start + name)[:min(253, 40+random.IntN(214), len(start)+len(name))]
		}
		names[name] = true
	}
	for _, length := range []int{1, 51, 52, 53, 62, 63, 64, 100, 252, 253} {
		for _, end := range []string{"a", "b", "0"} {
			names[strings.Repeat("a", length-1)+end] = true
			names[strings.Repeat("0", length-1)+end] = true
			names[(strings.Repeat("a.", length) + end)[length+1:]] = true
		}
	}
	var all []string
	for name := range names {
		if len(validation.IsDNS1123Subdomain(name)) == 0 {
			all = append(all, name)
		}
	}
	require.Greater(t, len(all), 5_000)
	return all
}

func TestA11EveryNameIsValidAndShortEnough(t *testing.T) {
	names := agentNames(t)
	for kind, child := range childNames {
		t.Run(kind, func(t *testing.T) {
			for _, name := range names {
				got := child.of(name)
				require.LessOrEqual(t, len(got), child.limit, name)
				require.Empty(t, validation.IsDNS1123Subdomain(got), name)
				if child.valid != nil {
					require.Empty(t, child.valid(got), name)
				}
				require.Equal(t, got, child.of(name), "the name must be found again")
			}
		})
	}
}

func TestA33NoTwoAgentsShareAName(t *testing.T) {
	names := agentNames(t)
	for kind, child := range childNames {
		t.Run(kind, func(t *testing.T) {
			owners := map[string]string{}
			for _, name := range names {
				got := child.of(name)
				require.Empty(t, owners[got], "%q and %q both get %q", owners[got], name, got)
				owners[got] = name
			}
		})
	}
}

func TestA33NoAgentCanBeNamedAfterAnothersChild(t *testing.T) {
	for kind, child := range childNames {
		t.Run(kind, func(t *testing.T) {
			for _, victim := range []string{strings.Repeat("long", 20), "a.b", "7"} {
				taken := child.of(victim)
				if taken == victim {
					continue
				}
				assert.NotEqual(t, taken, child.of(taken))
			}
		})
	}
	t.Run("the name and the suffix of a Job cannot be mistaken", func(t *testing.T) {
		b, c := named("a-b"), named("a")
		assert.NotEqual(t, JobName(b), JobName(c))
		assert.True(t, strings.HasPrefix(JobName(b), "a-b-"))
	})
}

func TestNamesThatFitAreKept(t *testing.T) {
	tests := map[string]struct{ name, deployment, service, cronJob string }{
		"a label":           {name: "demo", deployment: "demo", service: "demo", cronJob: "demo"},
		"one with a date":   {name: "demo-20240101", deployment: "demo-20240101", service: "demo-20240101", cronJob: "demo-20240101"},
		"one with a dot":    {name: "a.b", deployment: "a.b", service: "a-b--2e7336dc", cronJob: "a.b"},
		"one with a number": {name: "7", deployment: "7", service: "loom-7--7902699b", cronJob: "7"},
		"one of 53 characters": {
			name:       strings.Repeat("a", 53),
			deployment: strings.Repeat("a", 53), service: strings.Repeat("a", 53),
			cronJob: strings.Repeat("a", 42) + "--" + digest(strings.Repeat("a", 53), 8),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := named(test.name)
			assert.Equal(t, test.deployment, DeploymentName(agent))
			assert.Equal(t, test.service, ServiceName(agent))
			assert.Equal(t, test.cronJob, CronJobName(agent))
		})
	}
}

func TestA06TheNameOfAJobMeansOneGenerationOfOneAgent(t *testing.T) {
	agent := named("demo")
	name := JobName(agent)
	assert.Regexp(t, "^demo-[0-9a-f]{10}$", name)

	again := agent.DeepCopy()
	again.ResourceVersion = "5"
	again.Labels = map[string]string{"a": "b"}
	assert.Equal(t, name, JobName(again))

	edited := agent.DeepCopy()
	edited.Generation++
	assert.NotEqual(t, name, JobName(edited))

	recreated := agent.DeepCopy()
	recreated.UID = "another"
	assert.NotEqual(t, name, JobName(recreated))
}

func TestA48TheSelectorIsConstantAndSelectsThePods(t *testing.T) {
	agent := fixture(t, "serve-full")
	want := Deployment(Input{Agent: agent}).Spec.Selector
	assert.Equal(t, map[string]string{
		"loom.beyond10x.dev/agent": "serve-full", "app.kubernetes.io/component": "serve",
	}, want.MatchLabels)
	assert.Equal(t, "app.kubernetes.io/component=serve,loom.beyond10x.dev/agent=serve-full", SelectorString(agent))

	agent.Labels = map[string]string{"new": "label"}
	agent.Spec.Image.Tag = "2"
	agent.Spec.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1"}`)
	agent.Spec.Pod.Labels = map[string]string{"app.kubernetes.io/component": "forged", "version": "2"}
	edited := Deployment(Input{Agent: agent, ReferencesDigest: "new"})
	assert.Equal(t, want, edited.Spec.Selector)

	selector, err := labels.Parse(SelectorString(agent))
	require.NoError(t, err)
	assert.True(t, selector.Matches(labels.Set(edited.Spec.Template.Labels)), "the selector must match")
	assert.False(t, selector.Matches(labels.Set(Job(Input{Agent: agent}).Spec.Template.Labels)), "a run is not served")
	assert.Equal(t, want.MatchLabels, Service(Input{Agent: agent}).Spec.Selector)
}

func TestComponentFollowsTheDocument(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"nothing":                 {spec: "{}", want: ComponentServe},
		"a command":               {spec: "{command: {}}", want: ComponentRun},
		"a schedule":              {spec: "{schedule: {cron: x}}", want: ComponentSchedule},
		"a command on a schedule": {spec: "{command: {}, schedule: {cron: x}}", want: ComponentSchedule},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, Component(with(t, test.spec).Agent)) })
	}
}

func FuzzNamesAreValidForAnyText(f *testing.F) {
	for _, name := range []string{"", "-", ".", "A", "ü", "a--0123abcd", strings.Repeat("-", 300)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for kind, child := range childNames {
			got := child.of(name)
			assert.LessOrEqual(t, len(got), child.limit, "%s %q", kind, name)
			assert.Empty(t, validation.IsDNS1123Subdomain(got), "%s %q", kind, name)
		}
	})
}

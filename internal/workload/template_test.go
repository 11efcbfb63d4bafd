package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// templates returns the pods of all three kinds for one document.
func templates(in Input) map[string]corev1.PodTemplateSpec {
	return map[string]corev1.PodTemplateSpec{
		ComponentServe:    Deployment(in).Spec.Template,
		ComponentRun:      Job(in).Spec.Template,
		ComponentSchedule: CronJob(in).Spec.JobTemplate.Spec.Template,
	}
}

// variables returns the environment by name.
func variables(t *testing.T, container corev1.Container) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range container.Env {
		require.NotContains(t, all, v.Name, "A12: a name is there once")
		all[v.Name] = v.Value
	}
	return all
}

func TestTheThreeTemplatesDifferOnlyInHowThePodStarts(t *testing.T) {
	for _, name := range variants {
		t.Run(name, func(t *testing.T) {
			in := Input{Agent: fixture(t, name), DefaultImage: testImage}
			all := templates(in)
			starts := map[string]struct {
				restart corev1.RestartPolicy
				mode    string
			}{
				ComponentServe:    {restart: corev1.RestartPolicyAlways, mode: "serve"},
				ComponentRun:      {restart: corev1.RestartPolicyNever, mode: "run"},
				ComponentSchedule: {restart: corev1.RestartPolicyNever, mode: "run"},
			}
			for component, template := range all {
				c := &template.Spec.Containers[0]
				assert.Equal(t, starts[component].restart, template.Spec.RestartPolicy)
				assert.Equal(t, component, template.Labels[labelComponent])
				assert.Equal(t, starts[component].mode, variables(t, *c)[EnvMode])
				if in.Agent.Spec.Command == nil {
					assert.Equal(t, []string{starts[component].mode}, c.Args)
				}
				isServing := component == ComponentServe
				assert.Equal(t, isServing, len(c.Ports) > 0)
				assert.Equal(t, isServing, c.StartupProbe != nil && c.ReadinessProbe != nil && c.LivenessProbe != nil)

				template.Spec.RestartPolicy = ""
				delete(template.Labels, labelComponent)
				c.Args, c.Ports, c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = nil, nil, nil, nil, nil
				c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == EnvMode || v.Name == EnvPort })
				all[component] = template
			}
			assert.Equal(t, all[ComponentServe], all[ComponentRun])
			assert.Equal(t, all[ComponentServe], all[ComponentSchedule])
		})
	}
}

func TestProgram(t *testing.T) {
	tests := map[string]struct {
		spec          string
		command, args []string
	}{
		"none runs the image's own":        {spec: "{}", args: []string{"run"}},
		"an empty command runs it, too":    {spec: "{command: {}}", args: []string{"run"}},
		"empty lists are absent":           {spec: "{command: {entrypoint: [], args: []}}", args: []string{"run"}},
		"an entrypoint alone gets no args": {spec: "{command: {entrypoint: [a, b]}}", command: []string{"a", "b"}},
		"args alone go to the image's own": {spec: "{command: {args: [x]}}", args: []string{"x"}},
		"an empty argument is one":         {spec: `{command: {args: [""]}}`, args: []string{""}},
		"both, as they are written": {
			spec: `{command: {entrypoint: [a], args: [x, "--z"]}}`, command: []string{"a"}, args: []string{"x", "--z"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Job(with(t, test.spec)).Spec.Template.Spec.Containers[0]
			assert.Equal(t, test.command, c.Command)
			assert.Equal(t, test.args, c.Args)
		})
	}
}

func TestEnvironment(t *testing.T) {
	own := map[string]string{
		"LOOM_AGENT_NAME": "a", "LOOM_AGENT_NAMESPACE": "t", "LOOM_MODE": "serve",
		"LOOM_CONFIG_DIR": "/etc/loom", "LOOM_PORT": "8080", "HOME": "/tmp",
	}
	tests := map[string]struct {
		spec string
		more map[string]string
	}{
		"the operator's own":                 {spec: "{}"},
		"the port of the document":           {spec: "{serve: {port: 9090}}", more: map[string]string{"LOOM_PORT": "9090"}},
		"the document's are added":           {spec: "{env: [{name: A, value: b}, {name: E}]}", more: map[string]string{"A": "b", "E": ""}},
		"HOME is the document's to set":      {spec: "{env: [{name: HOME, value: /home/agent}]}", more: map[string]string{"HOME": "/home/agent"}},
		"A12 the operator's name is its own": {spec: "{env: [{name: LOOM_MODE, value: x}]}"},
		"A12 the first of two is kept": {
			spec: "{env: [{name: A, value: one}, {name: A, value: two}]}", more: map[string]string{"A": "one"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{}
			for _, values := range []map[string]string{own, test.more} {
				for key, value := range values {
					want[key] = value
				}
			}
			assert.Equal(t, want, variables(t, Deployment(with(t, test.spec)).Spec.Template.Spec.Containers[0]))
		})
	}
	t.Run("the document's come last, so that they may refer to the operator's", func(t *testing.T) {
		env := Deployment(with(t, "{env: [{name: A, value: $(HOME)}]}")).Spec.Template.Spec.Containers[0].Env
		assert.Equal(t, "A", env[len(env)-1].Name)
	})
	t.Run("a Secret's keys come from the Secret", func(t *testing.T) {
		c := Deployment(with(t, "{secretRef: {name: keys}}")).Spec.Template.Spec.Containers[0]
		require.Len(t, c.EnvFrom, 1)
		assert.Equal(t, "keys", c.EnvFrom[0].SecretRef.Name)
		assert.Nil(t, c.EnvFrom[0].SecretRef.Optional, "a missing Secret must be seen")
	})
}

func TestServiceAccount(t *testing.T) {
	tests := map[string]struct {
		spec, name string
		automount  *bool
	}{
		"none named gets no token":                 {spec: "{}", name: "default", automount: new(false)},
		"one named decides about its token itself": {spec: "{pod: {serviceAccountName: sa}}", name: "sa"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := Deployment(with(t, test.spec)).Spec.Template.Spec
			assert.Equal(t, test.name, pod.ServiceAccountName)
			assert.Equal(t, test.automount, pod.AutomountServiceAccountToken)
		})
	}
}

func TestStorage(t *testing.T) {
	tests := map[string]struct {
		spec   string
		mounts []string
		dir    string
	}{
		"scratch is always there": {spec: "{}", mounts: []string{"scratch /tmp"}},
		"what is handed over is read-only": {
			spec: "{connectorsConfig: x}", mounts: []string{"scratch /tmp", "config /etc/loom read-only"},
		},
		"a workspace is where the program starts": {
			spec: "{workspace: {mountPath: /w}}", mounts: []string{"scratch /tmp", "workspace /w"}, dir: "/w",
		},
		"files of a Secret are read-only": {
			spec:   "{secretFiles: {name: s, mountPath: /s}}",
			mounts: []string{"scratch /tmp", "secret-files /s read-only"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := Deployment(with(t, test.spec)).Spec.Template.Spec
			var mounts []string
			for i, m := range pod.Containers[0].VolumeMounts {
				assert.Equal(t, pod.Volumes[i].Name, m.Name, "each volume is mounted")
				text := m.Name + " " + m.MountPath
				if m.ReadOnly {
					text += " read-only"
				}
				mounts = append(mounts, text)
			}
			assert.Equal(t, test.mounts, mounts)
			assert.Equal(t, test.dir, pod.Containers[0].WorkingDir)
		})
	}
	t.Run("a workspace is kept by its claim", func(t *testing.T) {
		volumes := Deployment(with(t, "{workspace: {mountPath: /w, claimName: home}}")).Spec.Template.Spec.Volumes
		assert.Equal(t, "home", volumes[1].PersistentVolumeClaim.ClaimName)
		volumes = Deployment(with(t, "{workspace: {mountPath: /w}}")).Spec.Template.Spec.Volumes
		assert.NotNil(t, volumes[1].EmptyDir)
	})
}

func TestUserLabelsNeverOverrideTheOperators(t *testing.T) {
	for component, template := range templates(Input{Agent: fixture(t, "serve-full")}) {
		assert.Equal(t, "a", template.Labels["team"])
		for key, value := range Labels(fixture(t, "serve-full"), component) {
			assert.Equal(t, value, template.Labels[key], key)
		}
		assert.Equal(t, "hello", template.Annotations["example.com/note"])
	}
}

func TestResourcesAreWhatTheAPIServerStores(t *testing.T) {
	in := with(t, "{pod: {resources: {requests: {cpu: 0.0001, memory: 64Mi}, limits: {cpu: 1500m}}}}")
	got := Deployment(in).Spec.Template.Spec.Containers[0].Resources
	assert.Equal(t, "1m", got.Requests.Cpu().String(), "rounded up to a thousandth")
	assert.Equal(t, "64Mi", got.Requests.Memory().String())
	assert.Equal(t, "1500m", got.Limits.Cpu().String())
}

func TestA48ReferencesRollADeploymentAndNothingElse(t *testing.T) {
	before, after := with(t, "{}"), with(t, "{}")
	before.ReferencesDigest, after.ReferencesDigest = "one", "two"
	assert.Equal(t, "two", Deployment(after).Spec.Template.Annotations["loom.beyond10x.dev/references"])
	assert.NotEqual(t, Deployment(before), Deployment(after))
	assert.Equal(t, Job(before), Job(after))
	assert.Equal(t, CronJob(before), CronJob(after))

	before.ReferencesDigest = ""
	assert.NotContains(t, Deployment(before).Spec.Template.Annotations, ReferencesAnnotation)
}

func TestChildrenShareNoMemoryWithTheAgent(t *testing.T) {
	for _, name := range variants {
		t.Run(name, func(t *testing.T) {
			agent := fixture(t, name)
			if agent.Spec.Pod == nil {
				agent.Spec.Pod = &v1alpha1.PodSettings{}
			}
			want := agent.DeepCopy()
			in := Input{Agent: agent, ReferencesDigest: "x"}
			for _, template := range templates(in) {
				scribble(&template)
			}
			cron := CronJob(in)
			for _, field := range []*int64{cron.Spec.StartingDeadlineSeconds, Job(in).Spec.ActiveDeadlineSeconds} {
				if field != nil {
					*field = -1
				}
			}
			if zone := cron.Spec.TimeZone; zone != nil {
				*zone = "scribbled"
			}
			if replicas := Deployment(in).Spec.Replicas; replicas != nil {
				*replicas = -1
			}
			if ttl := TTL(agent); ttl != nil {
				*ttl = -1
			}
			assert.Equal(t, want, agent)
		})
	}
}

// scribble writes to all that a template could share with the document.
func scribble(template *corev1.PodTemplateSpec) {
	pod, c := &template.Spec, &template.Spec.Containers[0]
	for _, values := range []map[string]string{template.Labels, template.Annotations, pod.NodeSelector} {
		for key := range values {
			values[key] = "scribbled"
		}
	}
	for _, list := range [][]string{c.Command, c.Args} {
		for i := range list {
			list[i] = "scribbled"
		}
	}
	for name := range c.Resources.Requests {
		c.Resources.Requests[name] = resource.MustParse("7")
	}
	for i := range pod.Tolerations {
		pod.Tolerations[i].Key = "scribbled"
	}
	for i := range pod.ImagePullSecrets {
		pod.ImagePullSecrets[i].Name = "scribbled"
	}
	for i := range pod.TopologySpreadConstraints {
		pod.TopologySpreadConstraints[i].LabelSelector.MatchLabels["scribbled"] = ""
	}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && p.HTTPGet != nil {
			p.HTTPGet.Path = strings.Repeat("scribbled", 2)
		}
	}
	if pod.Affinity != nil {
		pod.Affinity.PodAntiAffinity = nil
	}
	if pod.RuntimeClassName != nil {
		*pod.RuntimeClassName = "scribbled"
	}
	if name := pod.SecurityContext.SeccompProfile.LocalhostProfile; name != nil {
		*name = "scribbled"
	}
}

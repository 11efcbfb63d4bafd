package workload

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// configVolume returns the sources of the volume at ConfigDir, nil without one.
func configVolume(pod corev1.PodSpec) []corev1.VolumeProjection {
	for _, v := range pod.Volumes {
		if v.Name == volumeConfig {
			return v.Projected.Sources
		}
	}
	return nil
}

func TestConfigHoldsWhatTheDocumentHandsOver(t *testing.T) {
	tests := map[string]struct {
		spec string
		data map[string]string
	}{
		"nothing gives no ConfigMap": {spec: "{}", data: nil},
		"null routes are absent":     {spec: "{routes: null}", data: nil},
		"a document with a number that no float64 holds": {
			spec: "{agent: {tokens: 9007199254740993}}", data: map[string]string{"agent.json": `{"tokens":9007199254740993}`},
		},
		"routes of any JSON": {spec: "{routes: [1]}", data: map[string]string{"routes.json": "[1]"}},
		"empty text is text": {spec: `{connectorsConfig: ""}`, data: map[string]string{"connectors": ""}},
		"a boundary without upstreams": {
			spec: "{boundary: {}}", data: map[string]string{"boundary.json": "{}"},
		},
		"the schedule's text":   {spec: "{schedule: {cron: x, input: {text: hi}}}", data: map[string]string{"input": "hi"}},
		"no key of a ConfigMap": {spec: "{schedule: {cron: x, input: {configMapKeyRef: {name: n, key: k}}}}", data: nil},
		"files, apart from the operator's own": {
			spec: "{connectorsConfig: c, configFiles: [{name: connectors, content: f}]}",
			data: map[string]string{"connectors": "c", "files.connectors": "f"},
		},
		"one file of two with the same name": {
			spec: "{configFiles: [{name: a, content: one}, {name: a, content: two}]}",
			data: map[string]string{"files.a": "one"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := with(t, test.spec)
			config := Config(in)
			if test.data == nil {
				assert.Nil(t, config)
				return
			}
			assert.Equal(t, test.data, config.Data)
			assert.Equal(t, new(true), config.Immutable)

			mounted := configVolume(Deployment(in).Spec.Template.Spec)
			require.NotEmpty(t, mounted)
			assert.Equal(t, config.Name, mounted[0].ConfigMap.Name)
			var keys []string
			for _, item := range mounted[0].ConfigMap.Items {
				keys = append(keys, item.Key)
				assert.Equal(t, strings.Replace(item.Key, "files.", "files/", 1), item.Path)
			}
			assert.Len(t, keys, len(config.Data))
			for key := range config.Data {
				assert.Contains(t, keys, key)
			}
		})
	}
}

func TestA13TextArrivesByteForByteAndOnlyAsAFile(t *testing.T) {
	const text = "cost $$5, run $(date), $(HOME)\r\n\tüber \x00\u2028 日本\n\n"
	in := with(t, "{schedule: {cron: x, input: {text: x}}, configFiles: [{name: f, content: x}]}")
	in.Agent.Spec.Schedule.Input.Text = new(text)
	in.Agent.Spec.ConfigFiles[0].Content = text
	in.Agent.Spec.ConnectorsConfig = new(text)

	data := Config(in).Data
	assert.Equal(t, map[string]string{"input": text, "files.f": text, "connectors": text}, data)
	template, err := yaml.Marshal(CronJob(in))
	require.NoError(t, err)
	assert.NotContains(t, string(template), "$")
}

func TestA13ArgumentsAndVariablesStayAsWritten(t *testing.T) {
	in := with(t, `{command: {args: ["-c", "echo $$ $(PATH)"]}, env: [{name: V, value: a$$b}]}`)
	container := Job(in).Spec.Template.Spec.Containers[0]
	assert.Equal(t, []string{"-c", "echo $$ $(PATH)"}, container.Args)
	assert.Contains(t, container.Env, corev1.EnvVar{Name: "V", Value: "a$$b"})
}

func TestA42LongTextIsNoArgumentAndNoVariable(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 140*1024/16)
	in := with(t, "{schedule: {cron: x, input: {text: x}}}")
	in.Agent.Spec.Schedule.Input.Text = &long
	assert.Equal(t, long, Config(in).Data["input"])

	template, err := yaml.Marshal(CronJob(in))
	require.NoError(t, err)
	assert.Less(t, len(template), 8*1024)
}

func TestInputOfAUsersConfigMapIsProjected(t *testing.T) {
	in := with(t, "{schedule: {cron: x, input: {configMapKeyRef: {name: inputs, key: nightly}}}}")
	assert.Equal(t, []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: "inputs"},
		Items:                []corev1.KeyToPath{{Key: "nightly", Path: "input"}},
	}}}, configVolume(CronJob(in).Spec.JobTemplate.Spec.Template.Spec))

	in.Agent.Spec.Schedule.Input.Text = new("text wins")
	sources := configVolume(CronJob(in).Spec.JobTemplate.Spec.Template.Spec)
	require.Len(t, sources, 1)
	assert.Equal(t, Config(in).Name, sources[0].ConfigMap.Name)
}

func TestMounts(t *testing.T) {
	in := with(t, "{command: {}, connectorsConfig: c, schedule: {cron: x, input: {configMapKeyRef: {name: inputs, key: k}}}}")
	pod := CronJob(in).Spec.JobTemplate.Spec.Template.Spec
	assert.True(t, Mounts(pod, Config(in).Name))
	assert.True(t, Mounts(pod, "inputs"), "also one of the user")
	assert.False(t, Mounts(pod, "other"))
	assert.False(t, Mounts(Job(with(t, "{command: {}}")).Spec.Template.Spec, Config(in).Name))
	assert.False(t, Mounts(corev1.PodSpec{}, ""))
}

func TestConfigNameDependsOnTheDataAlone(t *testing.T) {
	base := with(t, "{configFiles: [{name: a, content: one}, {name: b, content: two}]}").Agent
	same := map[string]func(*v1alpha1.LoomAgent){
		"nothing":                 func(*v1alpha1.LoomAgent) {},
		"generation and metadata": func(a *v1alpha1.LoomAgent) { a.Generation, a.UID, a.ResourceVersion = 9, "u2", "8" },
		"the image":               func(a *v1alpha1.LoomAgent) { a.Spec.Image = &v1alpha1.ImageRef{Repository: "r", Tag: "t"} },
		"the order of files": func(a *v1alpha1.LoomAgent) {
			a.Spec.ConfigFiles[0], a.Spec.ConfigFiles[1] = a.Spec.ConfigFiles[1], a.Spec.ConfigFiles[0]
		},
	}
	other := map[string]func(*v1alpha1.LoomAgent){
		"a file's text": func(a *v1alpha1.LoomAgent) { a.Spec.ConfigFiles[0].Content = "ones" },
		"a file's name": func(a *v1alpha1.LoomAgent) { a.Spec.ConfigFiles[0].Name = "c" },
		"one file less": func(a *v1alpha1.LoomAgent) { a.Spec.ConfigFiles = a.Spec.ConfigFiles[:1] },
		"added text":    func(a *v1alpha1.LoomAgent) { a.Spec.ConnectorsConfig = new("") },
		"the agent":     func(a *v1alpha1.LoomAgent) { a.Spec.Agent = v1alpha1.NewAgentDocument("{}") },
		"the routes":    func(a *v1alpha1.LoomAgent) { a.Spec.Routes = &apiextensionsv1.JSON{Raw: []byte("1")} },
		"text that moves to the next file": func(a *v1alpha1.LoomAgent) {
			a.Spec.ConfigFiles[0].Content, a.Spec.ConfigFiles[1].Content = "onetwo", ""
		},
		"the agent's name": func(a *v1alpha1.LoomAgent) { a.Name = "b" },
	}
	for name, edit := range same {
		t.Run("kept by "+name, func(t *testing.T) {
			edited := base.DeepCopy()
			edit(edited)
			assert.Equal(t, Config(Input{Agent: base}).Name, Config(Input{Agent: edited}).Name)
		})
	}
	for name, edit := range other {
		t.Run("changed by "+name, func(t *testing.T) {
			edited := base.DeepCopy()
			edit(edited)
			assert.NotEqual(t, Config(Input{Agent: base}).Name, Config(Input{Agent: edited}).Name)
		})
	}
}

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/config"
)

// FuzzParse: any bytes give documents with a verdict, nothing, or an error; never
// a panic and never two of them.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"../../tests/fixtures/check/accepted", "../../tests/fixtures/check/refused", "../../config/samples"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		require.NoError(f, err)
		require.NotEmpty(f, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	for _, text := range []string{"", "---", "kind: LoomAgent", "{kind: List, items: [null, {kind: List, items: [{}]}]}", "{kind: LoomAgentList, items: [{}]}", "{", "&a [*a]", "? !!binary x", "kind: !!int x", "\xff\xfe", "a: &a {b: *a}"} {
		f.Add([]byte(text))
	}
	decoder := strict()
	schema, err := readSchema()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := parse(decoder, "file", text, metav1.TypeMeta{})
		if err != nil {
			assert.Empty(t, documents)
			assert.NotEmpty(t, err.Error())
			return
		}
		for _, d := range documents {
			assert.Equal(t, v1alpha1.Kind, d.agent.Kind)
			assert.Equal(t, v1alpha1.GroupVersion.String(), d.agent.APIVersion)
			d.judge(schema, "registry.test/agent:1")
		}
	})
}

func TestHowTheAPIServerIsCalled(t *testing.T) {
	for name, c := range map[string]struct{ qps, want, burst int }{
		"no limit by default": {qps: 0, want: -1, burst: 0},
		"a limit":             {qps: 50, want: 50, burst: 100},
	} {
		config := &rest.Config{QPS: -1} // As controller-runtime hands it over.
		(&managerFlags{qps: c.qps}).tune(config)
		assert.Equal(t, rest.Config{QPS: float32(c.want), Burst: c.burst, DisableCompression: true}, *config, name)
	}
}

func TestNamespacesOfTheManager(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  []string
	}{
		"all, as OLM writes it": {"", nil},
		"one":                   {"a", []string{"a"}},
		"several, with spaces":  {" a, b ,c", []string{"a", "b", "c"}},
		"commas alone":          {" ,, ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(watchNamespaceVariable, c.value)
			flags := &managerFlags{}
			flags.watchNamespace = newManager().Flag("watch-namespace").Value.String()
			assert.Equal(t, c.want, flags.namespaces())
		})
	}
}

func TestOptionsOfTheManager(t *testing.T) {
	flags := &managerFlags{metricsAddress: ":1", probeAddress: ":2", secureMetrics: true, leaderElect: true, leaderElectionNamespace: "n", watchNamespace: "a,b"}
	options := flags.options()
	assert.True(t, options.Metrics.SecureServing)
	assert.NotNil(t, options.Metrics.FilterProvider)
	assert.Equal(t, ":1", options.Metrics.BindAddress)
	assert.Equal(t, ":2", options.HealthProbeBindAddress)
	assert.True(t, options.LeaderElection)
	assert.True(t, options.LeaderElectionReleaseOnCancel)
	assert.Equal(t, "n", options.LeaderElectionNamespace)
	assert.Equal(t, map[string]cache.Config{"a": {}, "b": {}}, options.Cache.DefaultNamespaces)
	assert.True(t, options.Scheme.Recognizes(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)))
	assert.True(t, options.Scheme.Recognizes(appsv1.SchemeGroupVersion.WithKind("Deployment")))

	flags.secureMetrics = false
	options = flags.options()
	assert.False(t, options.Metrics.SecureServing)
	assert.Nil(t, options.Metrics.FilterProvider)
}

// The process must have stopped by itself before the kubelet kills it.
func TestGraceFitsIntoThePods(t *testing.T) {
	text, err := config.Files.ReadFile(deploymentFile)
	require.NoError(t, err)
	deployment := &appsv1.Deployment{}
	require.NoError(t, yaml.Unmarshal(text, deployment))
	grace := time.Duration(*deployment.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	assert.Less(t, gracePeriod, grace)
	assert.Equal(t, gracePeriod, *(&managerFlags{}).options().GracefulShutdownTimeout)
}

func TestLogLevels(t *testing.T) {
	for level, want := range map[string][]string{
		"debug": {"debug", "info", "error"},
		"info":  {"info", "error"},
		"WARN":  {"error"},
		"error": {"error"},
	} {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetErr(&out)
			logger, err := newLogger(cmd, level)
			require.NoError(t, err)
			logger.V(4).Info("debug")
			logger.Info("info")
			logger.Error(context.Canceled, "error")
			for _, message := range []string{"debug", "info", "error"} {
				assert.Equal(t, slices.Contains(want, message), bytes.Contains(out.Bytes(), []byte(`"msg":"`+message+`"`)), message)
			}
		})
	}
}

// A manifest is written without loss of a number.
func TestManifestKeepsNumbers(t *testing.T) {
	seconds := int64(9007199254740993)
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds
	deployment.Status.Replicas = 3
	text, err := manifest(deployment)
	require.NoError(t, err)
	assert.Contains(t, string(text), "terminationGracePeriodSeconds: 9007199254740993\n")
	assert.NotContains(t, string(text), "status")
	assert.Equal(t, int32(3), deployment.Status.Replicas)
}

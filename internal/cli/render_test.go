package cli_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// objects reads manifests as the API server would, with strict validation.
func objects(t *testing.T, text string) []client.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	decoder := kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{Yaml: true, Strict: true})
	var found []client.Object
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		object, _, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, "%s", document)
		found = append(found, object.(client.Object))
	}
}

func TestRenderPrintsWhatTheControllersCreate(t *testing.T) {
	const image = "registry.example/agent:1"
	files := append(glob(t, fixtures, "accepted", "*.yaml"), glob(t, samples, "*.yaml")...)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := run("render", "-f", file, "--agent-image", image)
			require.Equal(t, 0, got.code, got.stderr)
			assert.Empty(t, got.stderr)
			assert.NotContains(t, got.stdout, "\nstatus:")
			assert.NotContains(t, got.stdout, "creationTimestamp")

			text, err := os.ReadFile(file)
			require.NoError(t, err)
			agent := &v1alpha1.LoomAgent{}
			require.NoError(t, yaml.Unmarshal(text, agent))
			want := workload.Children(workload.Input{Agent: agent, DefaultImage: image})
			rendered := objects(t, got.stdout)
			require.Len(t, rendered, len(want))
			for i := range want {
				assert.True(t, equality.Semantic.DeepEqual(want[i], rendered[i]), "%s %s", want[i].GetObjectKind().GroupVersionKind().Kind, want[i].GetName())
			}
		})
	}
}

func TestRenderOfSeveralDocuments(t *testing.T) {
	second := strings.Replace(accepted, "good", "better", 1)
	got := run("render", "-f", write(t, accepted), write(t, second+"---\n"+accepted))
	assert.Equal(t, 0, got.code)
	var names []string
	for _, object := range objects(t, got.stdout) {
		names = append(names, object.GetLabels()[v1alpha1.AgentLabel])
	}
	assert.Equal(t, []string{"good", "better", "good"}, names)
}

// The objects go to a cluster and the findings to a person.
func TestRenderLeavesOutWhatIsRefused(t *testing.T) {
	file := write(t, refused+"---\n"+accepted)
	got := run("render", "-f", file)
	assert.Equal(t, 1, got.code)
	require.Len(t, objects(t, got.stdout), 1)
	assert.Equal(t, "good", objects(t, got.stdout)[0].GetLabels()[v1alpha1.AgentLabel])
	assert.Contains(t, got.stderr, file+": LoomAgent "+finding)
	assert.NotContains(t, got.stderr, "good")
}

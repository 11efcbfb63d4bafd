package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// fact and probe are what the sample agent prints of a content and of its
// container (tests/agent/README.md).
type fact struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type probe struct {
	Files map[string]struct {
		fact
		Error string `json:"error"`
	} `json:"files"`
	Environment      map[string]fact `json:"environment"`
	UID              int             `json:"uid"`
	WorkingDirectory string          `json:"workingDirectory"`
	RootReadOnly     bool            `json:"rootReadOnly"`
}

func factOf(content string) fact {
	sum := sha256.Sum256([]byte(content))
	return fact{Bytes: len(content), SHA256: hex.EncodeToString(sum[:])}
}

// Contents that something on the way could change: expansion (case A13),
// encoding, characters that YAML folds or forbids (the API server reads a
// server-side apply as YAML), line ends, numbers beyond a float's, and size.
const (
	dollars  = "cost $$5, run $(date), $(HOME), ${HOME}\r\n\ttrailing \n\n"
	accents  = "naïve façade — 日本語 🧵 \u0085 \u2028 \ufeff \u007f \u009b\n"
	document = `{"schema":"loom.agent/1","model":"fast","instructions":"Ask «why» $(HOME).","limits":{"tokens":9007199254740993,"ratio":1.10}}`
	token    = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

var large = strings.Repeat("0123456789abcdé$\n", 140*1024/18+1)

func configFiles() []v1alpha1.ConfigFile {
	return []v1alpha1.ConfigFile{{Name: "dollars", Content: dollars}, {Name: "accents", Content: accents}, {Name: "large", Content: large}}
}

// wantFiles are the files of the configuration folder that every variant with
// this document and these files has. The document is what the API server
// stored, which is also what the ConfigMap has.
func wantFiles(t *testing.T, agent *v1alpha1.LoomAgent) map[string]fact {
	t.Helper()
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
	stored := string(agent.Spec.Agent.JSON())
	assert.JSONEq(t, document, stored)
	assert.Contains(t, stored, "9007199254740993")
	return map[string]fact{
		"agent.json":    factOf(stored),
		"files/dollars": factOf(dollars), "files/accents": factOf(accents), "files/large": factOf(large),
	}
}

// leaking is a Service that would show in the environment of every pod that
// does not turn that off.
func leaking(t *testing.T, namespace string) {
	t.Helper()
	require.Greater(t, len(large), 140*1024)
	require.NoError(t, cluster.Client.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "leak"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"nobody": "here"}},
	}))
}

func TestCommandFindsWhatTheRuntimeContractPromises(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	leaking(t, namespace)
	names := []string{"agent.json", "files/dollars", "files/accents", "files/large"}
	show := []string{"show", token}
	for _, name := range names {
		show = append(show, "/etc/loom/"+name)
	}
	agent := create(t, namespace, "inside", v1alpha1.LoomAgentSpec{
		Agent:       v1alpha1.NewAgentDocument(document),
		Command:     &v1alpha1.CommandSpec{Args: show},
		ConfigFiles: configFiles(),
		Workspace:   &v1alpha1.Workspace{MountPath: "/workspace"},
		Env:         []v1alpha1.EnvVar{{Name: "PLAIN", Value: accents}, {Name: "DOLLARS", Value: "a$$b $(UNSET) $(PLAIN)"}},
	})
	await(t, agent, "has completed", inState(v1alpha1.StateCompleted))
	var seen probe
	logLine(t, onePod(t, agent, "has succeeded", inPhase(corev1.PodSucceeded)), &seen)

	for name, want := range wantFiles(t, agent) {
		got := seen.Files["/etc/loom/"+name]
		assert.Empty(t, got.Error, name)
		assert.Equal(t, want, got.fact, name)
	}
	assert.Contains(t, seen.Files[token].Error, "no such file", "no token of the Kubernetes API is mounted")
	assert.True(t, seen.RootReadOnly)
	assert.Equal(t, 65532, seen.UID, "the user of the image")
	assert.Equal(t, "/workspace", seen.WorkingDirectory)
	for name, value := range map[string]string{
		"LOOM_AGENT_NAME": "inside", "LOOM_AGENT_NAMESPACE": namespace, "LOOM_MODE": "run", "LOOM_CONFIG_DIR": "/etc/loom", "HOME": "/tmp",
		"PLAIN": accents, "DOLLARS": "a$b $(UNSET) " + accents,
	} {
		assert.Equal(t, factOf(value), seen.Environment[name], name)
	}
	assert.NotContains(t, seen.Environment, "LOOM_PORT")
	assert.NotContains(t, seen.Environment, "LEAK_SERVICE_HOST")
}

func TestScheduledRunGetsItsInputByteForByte(t *testing.T) {
	t.Parallel()
	spec := scheduleSpec(everyMinute)
	spec.Agent, spec.ConfigFiles = v1alpha1.NewAgentDocument(document), configFiles()
	input := dollars + accents + large
	spec.Schedule.Input = &v1alpha1.ScheduleInput{Text: &input}
	agent := create(t, restricted(t), "input", spec)
	status := await(t, agent, "has run", func(status v1alpha1.LoomAgentStatus) bool { return status.LastRun != nil })
	require.Equal(t, v1alpha1.RunSucceeded, status.LastRun.Phase)
	list, err := pods(t.Context(), agent)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	assertDescribes(t, list[0], agent, map[string]fact{"input": factOf(input)})
}

func TestServingAgentFindsWhatTheRuntimeContractPromises(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	spec := servingSpec()
	spec.Agent, spec.ConfigFiles = v1alpha1.NewAgentDocument(document), configFiles()
	spec.Serve = &v1alpha1.ServeSettings{Port: new(int32(9090))}
	agent := create(t, namespace, "serving", spec)
	await(t, agent, "serves", func(status v1alpha1.LoomAgentStatus) bool {
		return condition(status, v1alpha1.ConditionReady).Status == metav1.ConditionTrue
	})
	pod := onePod(t, agent, "runs", inPhase(corev1.PodRunning))
	assertDescription(t, answerOf(t, fmt.Sprintf("http://%s:9090/", pod.Status.PodIP)), agent, "serve", nil)
}

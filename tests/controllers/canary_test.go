package controllers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// secretCanary is in every place where a Secret can be, and must stay there.
// documentCanary is in every place of a document where people put secrets that
// belong into a Secret: it reaches the child that carries it, and goes nowhere
// else.
const (
	secretCanary   = "canary-of-a-secret-7d1f"
	documentCanary = "canary-of-a-document-7d1f"
)

// withCanaries puts a canary into every field that can hold one.
func withCanaries(spec v1alpha1.LoomAgentSpec) v1alpha1.LoomAgentSpec {
	spec.SecretRef = &v1alpha1.SecretRef{Name: "variables"}
	spec.SecretFiles = &v1alpha1.SecretFiles{Name: "files", MountPath: "/secrets"}
	spec.Pod = &v1alpha1.PodSettings{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}}
	spec.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"default","instructions":"` + documentCanary + `"}`)
	spec.Routes = &apiextensionsv1.JSON{Raw: []byte(`{"default":{"key":"` + documentCanary + `"}}`)}
	spec.ConnectorsConfig = new("token: " + documentCanary)
	spec.ConfigFiles = []v1alpha1.ConfigFile{{Name: "netrc", Content: documentCanary}}
	spec.Env = []v1alpha1.EnvVar{{Name: "PASSWORD", Value: documentCanary}}
	spec.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.test", Audience: "models"}}
	if spec.Schedule != nil {
		spec.Schedule.Input = &v1alpha1.ScheduleInput{Text: new(documentCanary)}
	}
	if spec.Schedule == nil && spec.Command == nil {
		spec.Serve = &v1alpha1.ServeSettings{Probes: &v1alpha1.Probes{Readiness: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Port: intstr.FromString("http"), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: documentCanary}},
		}}}}}
	}
	return spec
}

func (w world) makeSecrets() {
	w.Helper()
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "variables"}, StringData: map[string]string{"TOKEN": secretCanary}})
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "files"}, StringData: map[string]string{"key.pem": secretCanary}})
	auth := `{"auths":{"registry.test":{"username":"u","password":"` + secretCanary + `"}}}`
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "registry"}, Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{corev1.DockerConfigJsonKey: auth}})
}

// A39: no value of a Secret goes anywhere, at the highest log level, in agents
// that work and in agents that fail in every way, and after a restart.
func TestA39CanaryOfASecretShowsNowhere(t *testing.T) {
	w := quietWorld(t)
	metrics := freeAddress(t)
	operator := harness.StartOperator(t, w.cluster, "--log-level=debug", "--metrics-secure=false", "--metrics-bind-address="+metrics)
	w.makeSecrets()
	for variant, spec := range variants() {
		w.create(variant, withCanaries(spec()))
	}
	w.fail()
	w.available("serve")
	w.completed("command")
	w.inForce("schedule")
	w.tick("schedule")
	w.pod("schedule")

	// A Secret that changes, one that goes, and an operator that starts anew.
	edit(w, "variables", func(secret *corev1.Secret) { secret.Data["TOKEN"] = []byte(secretCanary + "-new") })
	w.remove(&corev1.Secret{ObjectMeta: w.meta("files")})
	w.await("serve", "misses its Secret", condition(v1alpha1.ConditionReferencesResolved, metav1.ConditionFalse, v1alpha1.ReasonReferenceMissing))
	require.NoError(t, operator.Restart())
	operator.Working(t)
	w.calm()

	require.Contains(t, operator.Log(), `"level":"DEBUG"`)
	exposed := read(t, metrics)
	require.Contains(t, exposed, `name="serve"`, "the metrics tell of agents")
	w.assertNoCanary(map[string]string{"the log": operator.Log(), "the metrics": exposed})
}

// fail makes agents that go wrong at each step of a pass, with texts of others
// that hold canaries.
func (w world) fail() {
	w.Helper()
	refused := withCanaries(command())
	refused.Agent = v1alpha1.NewAgentDocument(`{"schema":"loom.agent/2","model":"default","instructions":"` + documentCanary + `"}`)
	refused.Env = append(refused.Env, v1alpha1.EnvVar{Name: "LOOM_MODE", Value: documentCanary})
	w.create("refused", refused)
	missing := withCanaries(scheduled())
	missing.Schedule.Input = &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "kube-root-ca.crt", Key: "absent"}}
	w.create("missing", missing)
	invalid := withCanaries(serving())
	invalid.Serve.Probes.Readiness.HTTPGet.HTTPHeaders[0].Name = "not a header"
	w.create("invalid", invalid)
	w.create("unpulled", withCanaries(serving()))
	w.create("unmade", withCanaries(command()))
	w.create("crashed", withCanaries(command()))

	w.await("refused", "is refused", state(v1alpha1.StateRefused))
	w.await("missing", "waits", notReady(v1alpha1.ReasonReferenceMissing))
	w.await("invalid", "is invalid", notReady(v1alpha1.ReasonChildInvalid))
	w.waits(w.pod("unpulled"), "ErrImagePull", "https://u:"+secretCanary+"@registry.test: denied")
	w.await("unpulled", "cannot pull", notReady(v1alpha1.ReasonImagePullFailed))
	w.waits(w.pod("unmade"), "CreateContainerConfigError", "PASSWORD="+documentCanary+" TOKEN="+secretCanary)
	w.await("unmade", "cannot be made", notReady(v1alpha1.ReasonContainerConfigError))
	end := exit(3)
	end.Message = "panic: token is " + secretCanary
	w.ends(w.pod("crashed"), end)
	w.await("crashed", "has failed", state(v1alpha1.StateFailed))
}

// assertNoCanary looks at these texts and at everything that the operator, or
// somebody on its behalf, wrote.
func (w world) assertNoCanary(texts map[string]string) {
	w.Helper()
	var agents v1alpha1.LoomAgentList
	require.NoError(w, w.List(w.Context(), &agents, client.InNamespace(w.namespace)))
	for _, agent := range agents.Items {
		texts["status of "+agent.Name] = jsonOf(w, agent.Status)
		texts["annotations of "+agent.Name] = jsonOf(w, agent.Annotations)
	}
	var events corev1.EventList
	require.NoError(w, w.List(w.Context(), &events, client.InNamespace(w.namespace)))
	require.NotEmpty(w, events.Items)
	for _, event := range events.Items {
		texts["Event "+event.Name] = jsonOf(w, event)
	}
	objects := map[string]string{}
	for _, child := range w.children() {
		name := fmt.Sprintf("%T %s", child, child.GetName())
		texts["annotations of "+name] = jsonOf(w, child.GetAnnotations())
		if pod, is := child.(*corev1.Pod); is {
			// What a kubelet says of its pod is not the operator's.
			pod.Status = corev1.PodStatus{}
			texts["program of "+name] = jsonOf(w, append(pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args...))
		}
		objects[name] = jsonOf(w, child)
	}
	require.Greater(w, len(objects), 10)
	for name, text := range objects {
		assertWithout(w, name, text, secretCanary)
	}
	for name, text := range texts {
		assertWithout(w, name, text, secretCanary)
		assertWithout(w, name, text, documentCanary)
	}
}

// assertWithout looks for a canary as it is and as the data of a Secret shows.
func assertWithout(t testing.TB, name, text, canary string) {
	t.Helper()
	// The last characters of a code depend on what follows the canary.
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))[:24]
	for line := range strings.SplitSeq(text, "\n") {
		assert.False(t, strings.Contains(line, canary) || strings.Contains(line, encoded), "%s has %s: %s", name, canary, line)
	}
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// freeAddress is one that nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// read gets the metrics of an operator.
func read(t testing.TB, address string) string {
	t.Helper()
	var body string
	harness.Eventually(t, patience, "the metrics answer", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		body = string(text)
		return err
	})
	return body
}

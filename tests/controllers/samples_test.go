package controllers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// readDocument reads a YAML file of the repository as it is.
func readDocument(t testing.TB, elements ...string) *unstructured.Unstructured {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(append([]string{root}, elements...)...))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(text, &object.Object))
	return object
}

// sample applies a file of config/samples, as strictly as kubectl does.
func (w world) sample(elements ...string) string {
	w.Helper()
	object := readDocument(w, append([]string{"config", "samples"}, elements...)...)
	object.SetNamespace(w.namespace)
	require.NoError(w, w.Create(w.Context(), object, client.FieldValidation(metav1.FieldValidationStrict)))
	return object.GetName()
}

func TestSampleServes(t *testing.T) {
	w := newWorld(t)
	name := w.sample("serve.yaml")
	w.await(name, "starts", state(v1alpha1.StateRunning), notReady(v1alpha1.ReasonRolloutInProgress), hasWorkload("Deployment"))

	agent := w.available(name)

	assert.Equal(t, v1alpha1.AgentServe, agent.Status.Variant)
	assert.Equal(t, &v1alpha1.CheckResult{Message: "The document was accepted."}, agent.Status.Check)
	assert.Equal(t, &v1alpha1.DeploymentStatus{Availability: v1alpha1.Available}, agent.Status.Deployment)
	assertConditions(t, agent, map[string]metav1.ConditionStatus{
		v1alpha1.ConditionChecked: metav1.ConditionTrue, v1alpha1.ConditionReferencesResolved: metav1.ConditionTrue,
		v1alpha1.ConditionAvailable: metav1.ConditionTrue, v1alpha1.ConditionReady: metav1.ConditionTrue, v1alpha1.ConditionSynced: metav1.ConditionTrue,
	})
	assert.Equal(t, harness.AgentImage, agent.Status.Workload.Image)
	service := get[corev1.Service](w, name)
	assert.Equal(t, int32(8080), service.Spec.Ports[0].Port)
	columns := w.columns(name)
	assert.Equal(t, map[string]any{"State": "Running", "Variant": "AgentServe", "Ready": "True", "Reason": "Available", "Image": harness.AgentImage}, pick(columns, "State", "Variant", "Ready", "Reason", "Image"))
}

func TestSampleCommandEnds(t *testing.T) {
	w := newWorld(t)
	name := w.sample("command.yaml")
	w.await(name, "runs", state(v1alpha1.StateRunning), notReady(v1alpha1.ReasonRunning), hasWorkload("Job"))
	end := exit(7)

	w.ends(w.pod(name), end)
	agent := w.await(name, "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonRunFailed))

	assert.Equal(t, v1alpha1.Command, agent.Status.Variant)
	require.NotNil(t, agent.Status.Run)
	assert.Equal(t, new(int32(7)), agent.Status.Run.ExitCode)
	assert.Equal(t, new("Error"), agent.Status.Run.Reason)
	assert.True(t, end.FinishedAt.Equal(agent.Status.Run.FinishedAt), "%s is the container's %s", agent.Status.Run.FinishedAt, end.FinishedAt)
	assertConditions(t, agent, map[string]metav1.ConditionStatus{
		v1alpha1.ConditionChecked: metav1.ConditionTrue, v1alpha1.ConditionReferencesResolved: metav1.ConditionTrue,
		v1alpha1.ConditionCompleted: metav1.ConditionFalse, v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionSynced: metav1.ConditionTrue,
		v1alpha1.ConditionStalled: metav1.ConditionTrue,
	})
	assert.Equal(t, map[string]any{"State": "Failed", "Reason": "RunFailed", "Exit": 7.0}, pick(w.columns(name), "State", "Reason", "Exit"))
}

func TestSampleScheduleRecordsItsLastRun(t *testing.T) {
	w := newWorld(t)
	name := w.sample("schedule.yaml")
	w.await(name, "is in force", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled), hasWorkload("CronJob"),
		condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonNoRunYet))
	w.tick(name)
	end := exit(0)

	w.ends(w.pod(name), end)
	agent := w.await(name, "has a last run", state(v1alpha1.StateRunning), condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionTrue, v1alpha1.ReasonLastRunSucceeded))

	assert.Equal(t, v1alpha1.AgentServe, agent.Status.Variant, "a schedule does not change the variant")
	require.NotNil(t, agent.Status.LastRun)
	assert.Equal(t, v1alpha1.RunSucceeded, agent.Status.LastRun.Phase)
	assert.Equal(t, new(int32(0)), agent.Status.LastRun.ExitCode)
	require.NotNil(t, agent.Status.NextRun)
	columns := w.columns(name)
	assert.Equal(t, map[string]any{"State": "Running", "Schedule": "0 7 * * *", "Zone": "Europe/Berlin", "Last Run": "Succeeded", "Last Exit": 0.0},
		pick(columns, "State", "Schedule", "Zone", "Last Run", "Last Exit"))
	assert.NotEmpty(t, columns["Next Run"])
}

func TestSampleRefusedNamesBothFieldsAndRunsOnceTheyAreCorrected(t *testing.T) {
	w := newWorld(t)
	name := w.sample("refused", "refused.yaml")

	agent := w.await(name, "is refused", state(v1alpha1.StateRefused), notReady(v1alpha1.ReasonRefused))

	require.NotNil(t, agent.Status.Check)
	assert.Equal(t, int32(1), agent.Status.Check.ExitCode)
	for _, field := range []string{"spec.agent.schema", "spec.schedule.cron"} {
		assert.Contains(t, agent.Status.Check.Message, field)
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), field)
	}
	assertConditions(t, agent, map[string]metav1.ConditionStatus{
		v1alpha1.ConditionChecked: metav1.ConditionFalse, v1alpha1.ConditionReferencesResolved: metav1.ConditionUnknown,
		v1alpha1.ConditionScheduled: metav1.ConditionUnknown, v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionSynced: metav1.ConditionTrue,
		v1alpha1.ConditionStalled: metav1.ConditionTrue,
	})
	assert.Empty(t, names(w.children()))

	edit(w, name, func(agent *v1alpha1.LoomAgent) { agent.Spec = scheduled() })
	w.inForce(name)
}

// assertConditions compares all conditions. Each is of the present generation.
func assertConditions(t *testing.T, agent *v1alpha1.LoomAgent, want map[string]metav1.ConditionStatus) {
	t.Helper()
	have := map[string]metav1.ConditionStatus{}
	for _, c := range agent.Status.Conditions {
		have[c.Type] = c.Status
		assert.Equal(t, agent.Generation, c.ObservedGeneration, c.Type)
		assert.NotEmpty(t, c.Reason, c.Type)
		assert.NotEmpty(t, c.Message, c.Type)
	}
	assert.Equal(t, want, have)
}

// columns reads what kubectl get -o wide prints.
func (w world) columns(name string) map[string]any {
	w.Helper()
	login := rest.CopyConfig(w.cluster.Config)
	login.GroupVersion, login.APIPath = &v1alpha1.GroupVersion, "/apis"
	login.NegotiatedSerializer = serializer.NewCodecFactory(w.Scheme()).WithoutConversion()
	c, err := rest.RESTClientFor(login)
	require.NoError(w, err)
	raw, err := c.Get().Namespace(w.namespace).Resource("loomagents").Name(name).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(w.Context())
	require.NoError(w, err)
	var table metav1.Table
	require.NoError(w, json.Unmarshal(raw, &table))
	columns := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		columns[column.Name] = table.Rows[0].Cells[i]
	}
	return columns
}

func pick(all map[string]any, keys ...string) map[string]any {
	some := map[string]any{}
	for _, key := range keys {
		some[key] = all[key]
	}
	return some
}

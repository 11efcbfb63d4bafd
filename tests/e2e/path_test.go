package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const timeout = "--timeout=120s"

func TestServingAgentIsReadyAndAnswersThroughItsService(t *testing.T) {
	t.Parallel()
	agent := create(t, restricted(t), "desk", servingSpec())
	kubectl(t, agent.Namespace, "wait", "--for=condition=Ready", timeout, "loomagent/desk")

	status := await(t, agent, "serves", inState(v1alpha1.StateRunning))
	assert.Equal(t, &v1alpha1.DeploymentStatus{Availability: v1alpha1.Available}, status.Deployment)
	assert.Equal(t, v1alpha1.AgentServe, status.Variant)
	assert.Equal(t, images.Agent.Reference, status.Workload.Image)
	service := &corev1.Service{}
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), service))
	body := answerOf(t, fmt.Sprintf("http://%s:%d/", service.Spec.ClusterIP, service.Spec.Ports[0].Port))
	assert.Contains(t, string(body), `"name":"desk"`)
	assert.Contains(t, string(body), `"model":"fast"`)
}

// answerOf is what the agent says at an address. A Service leads to a pod a
// little later than the pod is available.
func answerOf(t *testing.T, address string) (body []byte) {
	t.Helper()
	harness.Eventually(t, patience, address+" answers", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		return err
	})
	return body
}

func TestCommandCompletes(t *testing.T) {
	t.Parallel()
	agent := create(t, restricted(t), "notes", commandSpec("run"))
	kubectl(t, agent.Namespace, "wait", "--for=condition=Ready", timeout, "loomagent/notes")
	kubectl(t, agent.Namespace, "wait", "--for=condition=Completed", timeout, "loomagent/notes")

	status := await(t, agent, "has completed", inState(v1alpha1.StateCompleted))
	assertEndIsThePrograms(t, status.Run, onePod(t, agent, "has succeeded", inPhase(corev1.PodSucceeded)), 0)
	assert.Equal(t, 1, podsStarted(t, agent.Namespace))
}

func TestExitCodeReasonAndTimeAreTheContainers(t *testing.T) {
	t.Parallel()
	spec := commandSpec("run")
	spec.Agent = agentWith(`{"exitCode":7}`)
	agent := create(t, restricted(t), "seven", spec)
	status := await(t, agent, "has failed", inState(v1alpha1.StateFailed))

	assertEndIsThePrograms(t, status.Run, onePod(t, agent, "has failed", inPhase(corev1.PodFailed)), 7)
	assert.Equal(t, "Error", *status.Run.Reason)
	ready := condition(status, v1alpha1.ConditionReady)
	assert.Equal(t, v1alpha1.ReasonRunFailed, ready.Reason)
	assert.Contains(t, ready.Message, "exit code 7")
	assert.Equal(t, 1, podsStarted(t, agent.Namespace))
}

// assertEndIsThePrograms compares a recorded end with that of the container.
func assertEndIsThePrograms(t *testing.T, end *v1alpha1.RunEnd, pod corev1.Pod, exitCode int32) {
	t.Helper()
	require.NotNil(t, end)
	program := programEnd(t, pod)
	assert.Equal(t, exitCode, program.ExitCode)
	require.NotNil(t, end.ExitCode)
	assert.Equal(t, exitCode, *end.ExitCode)
	require.NotNil(t, end.FinishedAt)
	assert.True(t, program.FinishedAt.Equal(end.FinishedAt), "%s and %s", program.FinishedAt, end.FinishedAt)
	require.NotNil(t, end.Reason)
	assert.Equal(t, program.Reason, *end.Reason)
}

const brokenDocument = `
apiVersion: loom.beyond10x.dev/v1alpha1
kind: LoomAgent
metadata:
  name: report
spec:
  agent: {schema: loom.agent/2, model: fast, instructions: Count the tickets.}
  command: {args: [run]}
`

func TestBrokenDocumentIsRefusedByFieldAndRunsOnceItIsFixed(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	apply(t, namespace, brokenDocument)
	kubectl(t, namespace, "wait", "--for=jsonpath={.status.state}=Refused", timeout, "loomagent/report")
	assert.Equal(t, "1", kubectl(t, namespace, "get", "loomagent/report", "--output=jsonpath={.status.check.exitCode}"))
	assert.Contains(t, kubectl(t, namespace, "get", "loomagent/report", "--output=jsonpath={.status.check.message}"), "agent.schema")
	assert.Contains(t, kubectl(t, namespace, "get", "loomagents"), "Refused")
	assert.Zero(t, podsStarted(t, namespace))

	apply(t, namespace, strings.Replace(brokenDocument, "loom.agent/2", "loom.agent/1", 1))
	kubectl(t, namespace, "wait", "--for=condition=Ready", timeout, "loomagent/report")
	assert.Equal(t, "Completed 0", kubectl(t, namespace, "get", "loomagent/report", "--output=jsonpath={.status.state} {.status.run.exitCode}"))
	assert.Equal(t, 1, podsStarted(t, namespace))
}

func TestScheduleShowsItsLastRunAfterEachTick(t *testing.T) {
	t.Parallel()
	spec := scheduleSpec(everyMinute)
	spec.Agent = agentWith(`{"exitCode":3}`)
	spec.Schedule.TimeZone = new("Europe/Berlin")
	agent := create(t, restricted(t), "digest", spec)
	first := *await(t, agent, "has run", func(status v1alpha1.LoomAgentStatus) bool { return status.LastRun != nil }).LastRun
	cronJob := &batchv1.CronJob{}
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), cronJob))
	assert.Equal(t, new("Europe/Berlin"), cronJob.Spec.TimeZone)

	second := await(t, agent, "has run again", func(status v1alpha1.LoomAgentStatus) bool {
		return status.LastRun.FinishedAt.After(first.FinishedAt.Time)
	})
	for _, run := range []v1alpha1.LastRun{first, *second.LastRun} {
		assert.Equal(t, v1alpha1.RunFailed, run.Phase)
		assert.Equal(t, int32(3), *run.ExitCode)
		assert.Equal(t, "Error", *run.Reason)
	}
	assert.InDelta(t, time.Minute.Seconds(), second.LastRun.FinishedAt.Sub(first.FinishedAt.Time).Seconds(), 30)
	assert.Equal(t, v1alpha1.StateRunning, second.State, "a run that fails leaves the schedule in force")
	assert.Equal(t, v1alpha1.ReasonLastRunFailed, condition(second, v1alpha1.ConditionLastRunSucceeded).Reason)
	assert.True(t, meta.IsStatusConditionTrue(second.Conditions, v1alpha1.ConditionReady))
	require.NotNil(t, second.NextRun)
	assert.True(t, second.NextRun.After(second.LastRun.FinishedAt.Time))
}

func TestDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	agents := map[string]v1alpha1.LoomAgentSpec{"desk": servingSpec(), "notes": commandSpec("run", "--sleep=1h"), "digest": scheduleSpec(newYear)}
	var created []*v1alpha1.LoomAgent
	for name, spec := range agents {
		spec.ConfigFiles = []v1alpha1.ConfigFile{{Name: "a.md", Content: "a"}}
		spec.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.example", Audience: "models"}}
		created = append(created, create(t, namespace, name, spec))
	}
	for _, agent := range created {
		await(t, agent, "runs", func(status v1alpha1.LoomAgentStatus) bool { return status.Workload != nil })
		if agent.Spec.Schedule == nil {
			onePod(t, agent, "runs", inPhase(corev1.PodRunning))
		}
	}
	for _, agent := range created {
		require.NoError(t, cluster.Client.Delete(t.Context(), agent))
	}
	harness.Eventually(t, patience, "everything is gone", func(ctx context.Context) error { return empty(ctx, namespace) })
	for _, agent := range created {
		assert.True(t, apierrors.IsNotFound(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), agent)))
	}
}

// empty is an error that names what a namespace still has of agents.
func empty(ctx context.Context, namespace string) error {
	for _, list := range []client.ObjectList{
		&v1alpha1.LoomAgentList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &batchv1.JobList{}, &batchv1.CronJobList{},
		&corev1.PodList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}, &corev1.ConfigMapList{},
	} {
		if err := cluster.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		for _, item := range items {
			object, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			if object.GetName() != "kube-root-ca.crt" {
				return fmt.Errorf("%T %s is still there", item, object.GetName())
			}
		}
	}
	return nil
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// everyMinute fires often; newYear does not fire while tests run, as a rule.
const (
	everyMinute = "* * * * *"
	newYear     = "0 0 1 1 *"
)

// restricted returns the test's namespace, which enforces Pod Security level
// restricted.
func restricted(t *testing.T) string {
	t.Helper()
	name := cluster.Namespace(t)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	require.NoError(t, cluster.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch))
	return name
}

// agentWith makes a document whose key sample tells the sample agent how to
// end, such as {"exitCode":7}; empty leaves it out.
func agentWith(sample string) *v1alpha1.AgentDocument {
	if sample == "" {
		sample = "{}"
	}
	return v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"fast","instructions":"Help.","sample":` + sample + `}`)
}

// The three ways to run, as small as they can be.
func servingSpec() v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Agent: agentWith("")}
}

func commandSpec(args ...string) v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Command: &v1alpha1.CommandSpec{Args: args}}
}

func scheduleSpec(cron string) v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Agent: agentWith(""), Schedule: &v1alpha1.ScheduleSpec{Cron: cron}}
}

func create(t *testing.T, namespace, name string, spec v1alpha1.LoomAgentSpec) *v1alpha1.LoomAgent {
	t.Helper()
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	require.NoError(t, cluster.Client.Create(t.Context(), agent))
	return agent
}

// await reads the agent until holds finds nothing wrong with its status.
func await(t *testing.T, agent *v1alpha1.LoomAgent, what string, holds func(v1alpha1.LoomAgentStatus) bool) v1alpha1.LoomAgentStatus {
	t.Helper()
	harness.Eventually(t, patience, agent.Name+" "+what, func(ctx context.Context) error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err
		}
		if agent.Status.ObservedGeneration != agent.Generation || !holds(agent.Status) {
			shown, err := json.Marshal(agent.Status)
			return fmt.Errorf("status of generation %d: %s %w", agent.Generation, shown, err)
		}
		return nil
	})
	return agent.Status
}

func inState(state v1alpha1.AgentState) func(v1alpha1.LoomAgentStatus) bool {
	return func(status v1alpha1.LoomAgentStatus) bool { return status.State == state }
}

// condition returns the condition of a type; a zero one when there is none.
func condition(status v1alpha1.LoomAgentStatus, kind string) metav1.Condition {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// kubectl runs kubectl in a namespace, as a user would.
func kubectl(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	printed, err := kube.Run(t.Context(), append([]string{"--namespace", namespace}, args...)...)
	require.NoError(t, err)
	return printed
}

// apply pipes a document into kubectl apply.
func apply(t *testing.T, namespace, document string) {
	t.Helper()
	_, err := kube.Pipe(t.Context(), document, "--namespace", namespace, "apply", "-f", "-")
	require.NoError(t, err)
}

// pods lists the pods of an agent.
func pods(ctx context.Context, agent *v1alpha1.LoomAgent) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := cluster.Client.List(ctx, &list, client.InNamespace(agent.Namespace), client.MatchingLabels{v1alpha1.AgentLabel: agent.Name})
	return list.Items, err
}

// onePod waits until the agent has exactly one pod that is as wanted.
func onePod(t *testing.T, agent *v1alpha1.LoomAgent, what string, wanted func(corev1.Pod) bool) corev1.Pod {
	t.Helper()
	var found corev1.Pod
	harness.Eventually(t, patience, "the one pod of "+agent.Name+" "+what, func(ctx context.Context) error {
		list, err := pods(ctx, agent)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("%d pods", len(list))
		}
		if found = list[0]; !wanted(found) {
			return fmt.Errorf("%s %s: %v", found.Name, found.Status.Phase, found.Status.ContainerStatuses)
		}
		return nil
	})
	return found
}

func inPhase(phase corev1.PodPhase) func(corev1.Pod) bool {
	return func(pod corev1.Pod) bool { return pod.Status.Phase == phase }
}

// podsStarted counts the pods that were ever created for an agent's runs, also
// those that are gone: the audit log has who created what.
func podsStarted(t *testing.T, namespace string) int {
	t.Helper()
	count := 0
	for _, write := range cluster.Writes(t, harness.UserOf("kube-system", "job-controller"), namespace) {
		if write.Verb == "create" && write.Resource == "pods" && write.Code < 300 {
			count++
		}
	}
	return count
}

// programEnd is how the container of the agent ended.
func programEnd(t *testing.T, pod corev1.Pod) corev1.ContainerStateTerminated {
	t.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == v1alpha1.AgentContainer && status.State.Terminated != nil {
			return *status.State.Terminated
		}
	}
	require.FailNow(t, "the program has not ended", "%v", pod.Status.ContainerStatuses)
	return corev1.ContainerStateTerminated{}
}

// logLine reads the one line of JSON that a run prints.
func logLine(t *testing.T, pod corev1.Pod, into any) {
	t.Helper()
	printed := kubectl(t, pod.Namespace, "logs", pod.Name, "--container", v1alpha1.AgentContainer)
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(printed)), into), printed)
}

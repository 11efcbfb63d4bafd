package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// The kinds of namespace that faults happen in, beside the usual one, which
// enforces Pod Security level restricted.
const (
	inPlain  = "plain"  // enforces no level
	inQuota  = "quota"  // has a quota of no pods
	inLimits = "limits" // has a LimitRange
)

// fault is something that goes wrong for an agent of its own.
type fault struct {
	// chapter of docs/troubleshooting.md.
	chapter string
	// what goes wrong. It begins with the number of its case, if it is one.
	what string
	// agent is its name.
	agent string
	// in is the kind of namespace; empty means the usual one.
	in   string
	spec v1alpha1.LoomAgentSpec
	// before makes the fault, where it is there before the agent.
	before func(t *testing.T, namespace string)
	// after makes the fault once the agent's pod runs.
	after func(t *testing.T, agent *v1alpha1.LoomAgent, pod corev1.Pod)
	// state and reason are what the agent then shows; it is not ready.
	state  v1alpha1.AgentState
	reason string
	// orState is what it shows instead where the node is another one.
	orState v1alpha1.AgentState
}

// The chapters.
const (
	ofDocument  = "What the document says and names"
	ofAdmission = "The pod cannot be made"
	ofPlacing   = "The pod cannot be placed"
	ofStart     = "The container cannot start"
	ofRun       = "The program ends, or does not"
	ofOthers    = "Somebody else acts"
)

// chapters are in the order of the life of an agent.
var chapters = []string{ofDocument, ofAdmission, ofPlacing, ofStart, ofRun, ofOthers}

func with(spec v1alpha1.LoomAgentSpec, change func(*v1alpha1.LoomAgentSpec)) v1alpha1.LoomAgentSpec {
	change(&spec)
	return spec
}

func limits(name corev1.ResourceName, amount v1alpha1.Amount) *v1alpha1.PodSettings {
	return &v1alpha1.PodSettings{Resources: &v1alpha1.Resources{Limits: map[corev1.ResourceName]v1alpha1.Amount{name: amount}}}
}

func requests(name corev1.ResourceName, amount v1alpha1.Amount) *v1alpha1.PodSettings {
	return &v1alpha1.PodSettings{Resources: &v1alpha1.Resources{Requests: map[corev1.ResourceName]v1alpha1.Amount{name: amount}}}
}

var absentImage = &v1alpha1.ImageRef{Repository: "ghcr.io/beyond10x/loom-agent", Tag: "nope"}

// others creates an object of somebody else.
func others(t *testing.T, namespace string, object client.Object) {
	t.Helper()
	object.SetNamespace(namespace)
	require.NoError(t, cluster.Client.Create(t.Context(), object))
}

// crashing is the agent whose program ends again and again.
const crashing = "crashing"

// mostWrites is how often the status of an agent may be written from its create
// until it shows its fault, and for as long as the fault lasts.
const mostWrites = 6

// Every fault happens to an agent of its own, all at the same time. Each shows
// by state, reason and message, keeps showing so, and is written a few times
// only, however often the kubelet tries again. What users see is
// docs/troubleshooting.md, which must be what the node gave.
func TestFaultsShowWhatIsWrongAndWhatToDo(t *testing.T) {
	t.Parallel()
	namespaces := faultNamespaces(t)
	all := append(faultsBeforeTheStart(), faultsFromTheStart()...)
	agents := map[string]*v1alpha1.LoomAgent{}
	for _, f := range all {
		namespace := namespaces[f.in]
		if f.before != nil {
			f.before(t, namespace)
		}
		agents[f.agent] = create(t, namespace, f.agent, f.spec)
	}
	for _, f := range all {
		if f.after != nil {
			agent := agents[f.agent]
			await(t, agent, "has its workload", func(status v1alpha1.LoomAgentStatus) bool { return status.Workload != nil })
			f.after(t, agent, onePod(t, agent, "runs", inPhase(corev1.PodRunning)))
		}
	}
	for _, f := range all {
		t.Run(f.what, func(t *testing.T) { await(t, agents[f.agent], "shows "+f.reason, f.shown) })
	}
	awaitRestarts(t, agents[crashing], 3)

	seen := map[string]v1alpha1.LoomAgentStatus{}
	for _, f := range all {
		agent := agents[f.agent]
		require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
		assert.True(t, f.shown(agent.Status), "%s: no longer so: %+v", f.what, agent.Status)
		assert.LessOrEqual(t, statusWrites(t, agent), mostWrites, f.what)
		seen[f.agent] = agent.Status
	}
	assertTroubleshooting(t, all, seen, namespaces)
}

// shown tells whether the agent shows its fault.
func (f fault) shown(status v1alpha1.LoomAgentStatus) bool {
	ready := condition(status, v1alpha1.ConditionReady)
	return slices.Contains([]v1alpha1.AgentState{f.state, f.orState}, status.State) && ready.Status == metav1.ConditionFalse && ready.Reason == f.reason && ready.Message != ""
}

// faultNamespaces makes one namespace of each kind.
func faultNamespaces(t *testing.T) map[string]string {
	t.Helper()
	namespaces := map[string]string{"": restricted(t), inPlain: "", inQuota: "", inLimits: ""}
	for kind, name := range namespaces {
		if name != "" {
			continue
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-" + kind + "-"}}
		require.NoError(t, cluster.Client.Create(t.Context(), namespace))
		t.Cleanup(func() { assert.NoError(t, cluster.Client.Delete(context.Background(), namespace)) })
		namespaces[kind] = namespace.Name
	}
	others(t, namespaces[inQuota], &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "no-pods"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
	}})
	others(t, namespaces[inLimits], &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "large-pods"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}}},
	}})
	harness.Eventually(t, patience, "the quota is in force", func(ctx context.Context) error {
		quota := &corev1.ResourceQuota{}
		err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespaces[inQuota], Name: "no-pods"}, quota)
		if err == nil && len(quota.Status.Hard) == 0 {
			err = errors.New("it has no status")
		}
		return err
	})
	return namespaces
}

// awaitRestarts waits until the kubelet has started the agent's program again
// so many times.
func awaitRestarts(t *testing.T, agent *v1alpha1.LoomAgent, want int32) {
	t.Helper()
	onePod(t, agent, fmt.Sprintf("has restarted %d times", want), func(pod corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount >= want
	})
}

// statusWrites counts how often the operator wrote the agent's status.
func statusWrites(t *testing.T, agent *v1alpha1.LoomAgent) int {
	t.Helper()
	count := 0
	for _, write := range cluster.Writes(t, harness.OperatorUser(), agent.Namespace) {
		if write.Resource == "loomagents/status" && write.Name == agent.Name && write.Code < 300 {
			count++
		}
	}
	return count
}

// keep lets a pod be there until the end of the test, also when it was deleted.
func keep(t *testing.T, pod corev1.Pod) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["loom.test/keep","batch.kubernetes.io/job-tracking"]}}`))
	require.NoError(t, cluster.Client.Patch(t.Context(), &pod, patch))
	t.Cleanup(func() {
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		assert.NoError(t, client.IgnoreNotFound(cluster.Client.Patch(context.Background(), &pod, release)))
	})
}

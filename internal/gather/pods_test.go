package gather_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

func pod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// The label of an agent with a long name is shortened, and the way back goes
// through the index.
func TestAgentsOfAPod(t *testing.T) {
	long := agent("n", strings.Repeat("long-", 30)+"name", v1alpha1.LoomAgentSpec{})
	find := gather.AgentsOf(newClient(t, interceptor.Funcs{}, long, agent("n", "short", v1alpha1.LoomAgentSpec{}), agent("m", "short", v1alpha1.LoomAgentSpec{})))
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want []client.ObjectKey
	}{
		"of an agent":                   {pod("n", "p", map[string]string{v1alpha1.AgentLabel: "short"}), []client.ObjectKey{{Namespace: "n", Name: "short"}}},
		"of an agent with a long name":  {pod("n", "p", map[string]string{v1alpha1.AgentLabel: gather.AgentLabel(long)}), []client.ObjectKey{client.ObjectKeyFromObject(long)}},
		"of an agent that is gone":      {pod("n", "p", map[string]string{v1alpha1.AgentLabel: "gone"}), nil},
		"of nobody":                     {pod("n", "p", nil), nil},
		"of another namespace's agents": {pod("x", "p", map[string]string{v1alpha1.AgentLabel: "short"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var want []reconcile.Request
			for _, key := range c.want {
				want = append(want, reconcile.Request{NamespacedName: key})
			}
			assert.Equal(t, want, find(t.Context(), c.pod))
		})
	}
}

func TestPodsOfAnAgent(t *testing.T) {
	c := fake.NewClientBuilder().
		WithObjects(
			pod("n", "mine", map[string]string{v1alpha1.AgentLabel: "a"}),
			pod("n", "other", map[string]string{v1alpha1.AgentLabel: "b"}),
			pod("m", "foreign", map[string]string{v1alpha1.AgentLabel: "a"})).
		WithIndex(&corev1.Pod{}, gather.LabelIndex, func(obj client.Object) []string { return []string{obj.GetLabels()[v1alpha1.AgentLabel]} }).Build()
	pods, err := gather.Pods(t.Context(), c, agent("n", "a", v1alpha1.LoomAgentSpec{}))
	require.NoError(t, err)
	require.Len(t, pods, 1)
	assert.Equal(t, "mine", pods[0].Name)
}

func TestPodsAndEventsOfAJob(t *testing.T) {
	event := func(name string, about types.UID, kind string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Type: kind, InvolvedObject: corev1.ObjectReference{UID: about}}
	}
	c := fake.NewClientBuilder().
		WithObjects(
			pod("n", "mine", map[string]string{batchv1.ControllerUidLabel: "job"}),
			pod("n", "other", map[string]string{batchv1.ControllerUidLabel: "other"}),
			event("mine", "job", corev1.EventTypeWarning), event("normal", "job", corev1.EventTypeNormal), event("other", "other", corev1.EventTypeWarning)).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string { return []string{string(obj.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "type", func(obj client.Object) []string { return []string{obj.(*corev1.Event).Type} }).Build()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j", UID: "job"}}

	pods, err := gather.LivePods(t.Context(), c, job)
	require.NoError(t, err)
	require.Len(t, pods, 1)
	assert.Equal(t, "mine", pods[0].Name)

	events, err := gather.JobEvents(t.Context(), c, job)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "mine", events[0].Name)
}

func TestListsThatFail(t *testing.T) {
	down := errors.New("down")
	c := newClient(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down },
	})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j", UID: "job"}}
	_, err := gather.Pods(t.Context(), c, agent("n", "a", v1alpha1.LoomAgentSpec{}))
	require.ErrorIs(t, err, down)
	_, err = gather.LivePods(t.Context(), c, job)
	require.ErrorIs(t, err, down)
	assert.ErrorContains(t, err, `Job "j"`)
	_, err = gather.JobEvents(t.Context(), c, job)
	require.ErrorIs(t, err, down)
	assert.ErrorContains(t, err, `Job "j"`)
}

package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// Case A18: the cache holds nothing of other people's objects.
func TestCacheHoldsAgentsAndWhatIsTheirs(t *testing.T) {
	options := CacheOptions(nil)
	assert.Empty(t, options.DefaultNamespaces)
	assert.Nil(t, options.DefaultLabelSelector, "the agents themselves carry no label of ours")
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	var kinds []string
	for kind, by := range options.ByObject {
		if _, primary := kind.(*v1alpha1.LoomAgent); primary {
			continue
		}
		kinds = append(kinds, fmt.Sprintf("%T", kind))
		for _, component := range []string{workload.ComponentServe, workload.ComponentRun, workload.ComponentSchedule} {
			assert.True(t, by.Label.Matches(labels.Set(workload.Labels(agent, component))))
		}
		assert.False(t, by.Label.Matches(labels.Set{"app.kubernetes.io/managed-by": "Helm"}))
		assert.False(t, by.Label.Matches(labels.Set{}))
	}
	assert.ElementsMatch(t, []string{
		"*v1.Deployment", "*v1.Job", "*v1.CronJob", "*v1.ConfigMap", "*v1.Service", "*v1.NetworkPolicy", "*v1.Pod",
	}, kinds)
}

func TestCacheDropsManagedFields(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}
	kept, err := CacheOptions(nil).DefaultTransform(pod)
	require.NoError(t, err)
	assert.Empty(t, kept.(*corev1.Pod).ManagedFields)
}

// Metrics take the kind from the object, and objects from a watch carry none.
func TestCacheNamesTheKindOfAgents(t *testing.T) {
	var transform toolscache.TransformFunc
	for kind, by := range CacheOptions(nil).ByObject {
		if _, primary := kind.(*v1alpha1.LoomAgent); primary {
			transform = by.Transform
		}
	}
	require.NotNil(t, transform)
	kept, err := transform(&v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}})
	require.NoError(t, err)
	assert.Equal(t, &v1alpha1.LoomAgent{
		TypeMeta:   metav1.TypeMeta{APIVersion: "loom.beyond10x.dev/v1alpha1", Kind: "LoomAgent"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
	}, kept)

	gone := toolscache.DeletedFinalStateUnknown{Key: "n/a"}
	kept, err = transform(gone)
	require.NoError(t, err)
	assert.Equal(t, gone, kept)
}

func TestCacheKeepsToTheNamespaces(t *testing.T) {
	assert.Equal(t, map[string]cache.Config{"a": {}, "b": {}}, CacheOptions([]string{"a", "b"}).DefaultNamespaces)
}

// indexes collects what is indexed, and fails at one kind.
type indexes struct {
	functions map[string]client.IndexerFunc
	fail      string
}

var errIndexed = errors.New("indexed already")

func (i *indexes) IndexField(_ context.Context, obj client.Object, field string, of client.IndexerFunc) error {
	name := fmt.Sprintf("%T %s", obj, field)
	if name == i.fail {
		return errIndexed
	}
	i.functions[name] = of
	return nil
}

func TestIndexes(t *testing.T) {
	got := &indexes{functions: map[string]client.IndexerFunc{}}
	require.NoError(t, index(t.Context(), got))
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.LoomAgentSpec{SecretRef: &v1alpha1.SecretRef{Name: "s"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.AgentLabel: "a"}}}
	owned := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "u", Controller: new(true)}}}
	for name, c := range map[string]struct {
		object client.Object
		want   []string
	}{
		"*v1.Deployment loom.owner":           {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.Job loom.owner":                  {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.CronJob loom.owner":              {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.ConfigMap loom.owner":            {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.Service loom.owner":              {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.NetworkPolicy loom.owner":        {&corev1.Pod{ObjectMeta: owned}, []string{"u"}},
		"*v1.Pod loom.label":                  {pod, []string{"a"}},
		"*v1alpha1.LoomAgent loom.label":      {agent, []string{"a"}},
		"*v1alpha1.LoomAgent loom.references": {agent, []string{"Secret/s", "Secret/"}},
	} {
		require.Contains(t, got.functions, name)
		assert.Equal(t, c.want, got.functions[name](c.object), name)
		delete(got.functions, name)

		failing := &indexes{functions: map[string]client.IndexerFunc{}, fail: name}
		assert.ErrorIs(t, index(t.Context(), failing), errIndexed)
	}
	assert.Empty(t, got.functions)
}

package children_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// estate is two objects of each kind, and those of others.
func estate() []client.Object {
	return []client.Object{
		child(&appsv1.Deployment{}, "a", "agent"),
		child(&appsv1.Deployment{}, "foreign", "other"),
		child(&appsv1.Deployment{}, "free", ""),
		child(&batchv1.CronJob{}, "a", "agent"),
		child(&batchv1.Job{}, "a-1", "agent"),
		child(&batchv1.Job{}, "a-2", "agent"),
		child(&batchv1.Job{}, "of-the-cronjob", "uid-of-a"),
		child(&corev1.ConfigMap{}, "a-config", "agent"),
		child(&corev1.ConfigMap{}, "foreign", "other"),
		child(&corev1.Service{}, "a", "agent"),
		child(&networkingv1.NetworkPolicy{}, "a", "agent"),
	}
}

func TestWorkloadsThatAreNotKeptAreRemovedFirst(t *testing.T) {
	w := newWorld(t, estate()...)
	remove := func(ctx context.Context, pass *journal.Pass) error {
		return children.Remover{Client: w.client}.Workloads(ctx, pass, children.Named(child(&batchv1.Job{}, "a-2", "")))
	}
	handled, result, err := w.pass(remove)
	require.NoError(t, err)
	assert.True(t, stages.IsVerdict(handled))
	assert.Equal(t, stages.DefaultWait, result.RequeueAfter)
	assert.ElementsMatch(t, []deletion{
		{"a", metav1.DeletePropagationForeground, "uid-of-a"},
		{"a-1", metav1.DeletePropagationForeground, "uid-of-a-1"},
		{"a", metav1.DeletePropagationForeground, "uid-of-a"},
	}, w.deletes)
	ready, message := w.ready()
	assert.Equal(t, "False/ReplacingVariant", ready)
	assert.Equal(t, `Waiting until CronJob "a", which an earlier document asked for, and its pods are gone. If this lasts, "kubectl -n n get pods -l loom.beyond10x.dev/agent=agent -o wide" shows the pod that stays: one on a lost node goes with its node, or when it is deleted with --force.`, message)
	assert.Equal(t, map[string]string{
		"ChildRemoved Remove/Deployment": `Removed Deployment "a", which the document no longer asks for.`,
		"ChildRemoved Remove/Job":        `Removed Job "a-1", which the document no longer asks for.`,
		"ChildRemoved Remove/CronJob":    `Removed CronJob "a", which the document no longer asks for.`,
	}, w.notes())

	w.deletes = nil
	handled, _, err = w.pass(remove)
	require.NoError(t, err)
	require.NoError(t, handled, "all are gone, so the pass goes on")
	assert.Empty(t, w.deletes)
	var left []string
	for _, object := range estate() {
		if w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object) == nil {
			left = append(left, fmt.Sprintf("%T %s", object, object.GetName()))
		}
	}
	assert.Equal(t, []string{
		"*v1.Deployment foreign", "*v1.Deployment free", "*v1.Job a-2", "*v1.Job of-the-cronjob",
		"*v1.ConfigMap a-config", "*v1.ConfigMap foreign", "*v1.Service a", "*v1.NetworkPolicy a",
	}, left)
}

func TestWorkloadsThatAreGoingAreWaitedFor(t *testing.T) {
	going := child(&appsv1.Deployment{}, "a", "agent")
	going.Finalizers, going.DeletionTimestamp = []string{metav1.FinalizerDeleteDependents}, &metav1.Time{Time: time.Now()}
	w := newWorld(t, going)
	handled, _, err := w.pass(func(ctx context.Context, pass *journal.Pass) error {
		return children.Remover{Client: w.client}.Workloads(ctx, pass, children.Named())
	})
	require.NoError(t, err)
	assert.True(t, stages.IsVerdict(handled))
	assert.Empty(t, w.deletes, "it is asked for once")
	assert.Empty(t, w.notes())
	_, message := w.ready()
	assert.Contains(t, message, `Deployment "a"`)
}

// The cache may show what is gone, or what was made anew under the same name.
func TestRemovalOverAnOutdatedView(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, c := range map[string]struct {
		failure error
		waits   bool
	}{
		"it is gone already, so wait until the cache knows":   {apierrors.NewNotFound(jobs, "a-1"), true},
		"it has another UID, so look again with another pass": {apierrors.NewConflict(jobs, "a-1", errors.New("the UID in the precondition does not match")), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, child(&batchv1.Job{}, "a-1", "agent"))
			w.fail = c.failure
			handled, result, err := w.pass(func(ctx context.Context, pass *journal.Pass) error {
				return children.Remover{Client: w.client}.Workloads(ctx, pass, children.Named())
			})
			require.NoError(t, err)
			assert.Equal(t, c.waits, stages.IsVerdict(handled))
			assert.Equal(t, !c.waits, apierrors.IsConflict(handled))
			assert.Positive(t, result.RequeueAfter)
			assert.Empty(t, w.notes())
		})
	}
}

// Caches lag one by one: a Job that an outdated document does not ask for may be
// the run of the present one, and removing it would lose that run.
func TestAnOutdatedDocumentRemovesNothing(t *testing.T) {
	w := newWorld(t, child(&batchv1.Job{}, "a-1", "agent"))
	outdated, present := w.agent(), w.agent()
	present.Generation++
	require.NoError(t, w.client.Update(t.Context(), present))
	var handled error
	controller, err := stages.For[*v1alpha1.LoomAgent]("test").Reconcile(func(ctx context.Context, pass *journal.Pass) error {
		handled = children.Remover{Client: w.client}.Workloads(ctx, pass, children.Named())
		return handled
	}).Build(w.client, w.client)
	require.NoError(t, err)
	result, err := controller.Reconcile(t.Context(), outdated)
	require.NoError(t, err)
	assert.True(t, apierrors.IsConflict(handled))
	assert.Positive(t, result.RequeueAfter)
	assert.Empty(t, w.deletes)
}

func TestRemovalThatIsForbidden(t *testing.T) {
	w := newWorld(t, child(&batchv1.Job{}, "a-1", "agent"))
	w.fail = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "a-1", errors.New("no rights"))
	_, _, err := w.pass(func(ctx context.Context, pass *journal.Pass) error {
		return children.Remover{Client: w.client}.Workloads(ctx, pass, children.Named())
	})
	require.ErrorIs(t, err, w.fail)
	ready, message := w.ready()
	assert.Equal(t, "False/ChildForbidden", ready)
	assert.Contains(t, message, `does not let the operator delete Job "a-1"`)
}

func TestAttachmentsAreRemovedInTheBackground(t *testing.T) {
	w := newWorld(t, estate()...)
	handled, _, err := w.pass(func(ctx context.Context, pass *journal.Pass) error {
		return children.Remover{Client: w.client}.Attachments(ctx, pass, children.Policies)
	})
	require.NoError(t, err)
	require.NoError(t, handled, "nothing waits for them")
	assert.ElementsMatch(t, []deletion{
		{"a-config", metav1.DeletePropagationBackground, "uid-of-a-config"},
		{"a", metav1.DeletePropagationBackground, "uid-of-a"},
	}, w.deletes)
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, &networkingv1.NetworkPolicy{}))
	assert.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, &corev1.Service{})))
}

func TestKeep(t *testing.T) {
	service, policy := child(&corev1.Service{}, "a", ""), child(&networkingv1.NetworkPolicy{}, "a", "")
	named := children.Named(child(&corev1.Service{}, "a", ""), child(&corev1.ConfigMap{}, "c", ""))
	assert.True(t, named(service))
	assert.False(t, named(policy), "another kind of the same name")
	assert.False(t, named(child(&corev1.Service{}, "b", "")), "another name of the same kind")
	assert.False(t, children.Named()(service))
	assert.True(t, children.Policies(policy))
	assert.False(t, children.Policies(service))
}

func TestOwner(t *testing.T) {
	assert.Equal(t, []string{"agent"}, children.Owner(child(&batchv1.Job{}, "j", "agent")))
	assert.Empty(t, children.Owner(child(&batchv1.Job{}, "j", "")))
	belongs := child(&batchv1.Job{}, "j", "agent")
	belongs.OwnerReferences[0].Controller = nil
	assert.Empty(t, children.Owner(belongs), "an owner that does not control it")
}

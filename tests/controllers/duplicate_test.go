package controllers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// endedWithoutAJob is a command that has completed and whose Job the TTL has
// removed.
func (w world) endedWithoutAJob(name string) *v1alpha1.LoomAgent {
	w.Helper()
	spec := command()
	spec.Run = &v1alpha1.RunSettings{TTLSecondsAfterFinished: new(int32(0))}
	agent := w.create(name, spec)
	w.ends(w.pod(name), exit(0))
	ended := w.await(name, "has completed", state(v1alpha1.StateCompleted))
	w.gone(&batchv1.Job{ObjectMeta: w.meta(workload.JobName(agent))})
	return ended
}

// A new leader whose view is outdated may still see the mark of a run that has
// ended, and make its Job again. Whoever resumed that Job would run the
// generation a second time, so it is removed, and the end stays as it was.
func TestDuplicateOfAnEndedRunIsRemoved(t *testing.T) {
	w := newWorld(t)
	before := w.endedWithoutAJob("c")
	events, err := w.Watch(t.Context(), &corev1.EventList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer events.Stop()

	duplicate := w.ownJob(before)
	w.make(duplicate)

	w.gone(&batchv1.Job{ObjectMeta: w.meta(duplicate.Name)})
	for next(t, events).Object.(*corev1.Event).Reason != "DuplicateDiscarded" {
	}
	w.stays("c", before)
	pods, err := w.pods(t.Context(), "c")
	require.NoError(t, err)
	assert.Empty(t, pods, "it has not run")
}

// A Job that somebody has let run is left for a person to look at.
func TestDuplicateThatRunsIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	before := w.endedWithoutAJob("c")

	duplicate := w.ownJob(before)
	duplicate.Spec.Suspend = new(false)
	w.make(duplicate)

	w.pod("c")
	w.always("the Job is there", func(ctx context.Context) error {
		job := &batchv1.Job{}
		if err := w.Get(ctx, keyOf(w, duplicate.Name), job); err != nil {
			return err
		}
		if !job.DeletionTimestamp.IsZero() {
			return errors.New("it is being deleted")
		}
		return nil
	})
	w.stays("c", before)
}

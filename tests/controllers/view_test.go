package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// next takes the next object from a watch.
func next(t *testing.T, events watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-events.ResultChan():
		require.True(t, open, "the watch has ended")
		return event
	case <-time.After(patience):
		require.Fail(t, "the watch shows nothing")
		return watch.Event{}
	}
}

func TestCreatedAgentShowsAsPendingAtOnce(t *testing.T) {
	w := quietWorld(t) // Nobody writes a status here.
	events, err := w.Watch(t.Context(), &v1alpha1.LoomAgentList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer events.Stop()

	created := w.create("s", serving())
	got := w.agent("s")
	var listed v1alpha1.LoomAgentList
	require.NoError(t, w.List(t.Context(), &listed, client.InNamespace(w.namespace)))
	watched := next(t, events)

	pending := v1alpha1.LoomAgentStatus{State: v1alpha1.StatePending}
	assert.Equal(t, pending, created.Status, "the answer to the create")
	assert.Equal(t, pending, got.Status, "a get")
	require.Len(t, listed.Items, 1)
	assert.Equal(t, pending, listed.Items[0].Status, "a list")
	assert.Equal(t, watch.Added, watched.Type)
	assert.Equal(t, pending, watched.Object.(*v1alpha1.LoomAgent).Status, "a watch")
}

// The Event of a move is sent after the status write of that move has returned,
// so whoever has seen the Event must see the move.
func TestMoveShowsAtOnceWhenItsWriteHasReturned(t *testing.T) {
	w := newWorld(t)
	events, err := w.Watch(t.Context(), &eventsv1.EventList{}, client.InNamespace(w.namespace))
	require.NoError(t, err)
	defer events.Stop()
	w.create("c", refused())
	shown := map[string]v1alpha1.AgentState{}

	for len(shown) < 2 {
		reason := next(t, events).Object.(*eventsv1.Event).Reason
		agent := w.agent("c")
		var listed v1alpha1.LoomAgentList
		require.NoError(t, w.List(t.Context(), &listed, client.InNamespace(w.namespace)))
		switch reason {
		case "LoomAgentRefused":
			edit(w, "c", func(agent *v1alpha1.LoomAgent) { agent.Spec = command() })
			w.ends(w.pod("c"), exit(1))
			fallthrough
		case "LoomAgentFailed":
			assert.Equal(t, agent.Status.State, listed.Items[0].Status.State)
			shown[reason] = agent.Status.State
		}
	}

	assert.Equal(t, v1alpha1.StateRefused, shown["LoomAgentRefused"])
	assert.Equal(t, v1alpha1.StateFailed, shown["LoomAgentFailed"])
}

func TestDeletedAgentIsGoneAtOnce(t *testing.T) {
	w := newWorld(t)
	agent := w.create("s", serving())
	w.await("s", "starts", hasWorkload("Deployment"))

	w.remove(agent)
	err := w.Get(t.Context(), client.ObjectKeyFromObject(agent), agent)

	assert.True(t, client.IgnoreNotFound(err) == nil && err != nil, "no finalizer keeps it: %v", err)
}

// A37: status writes are not edits.
func TestA37StatusWritesDoNotChangeTheGeneration(t *testing.T) {
	w := newWorld(t)
	w.create("c", command())
	agent := w.completed("c")

	for range 20 {
		from := client.MergeFrom(agent.DeepCopy())
		agent.Status.NextRun = new(metav1.NewTime(time.Now().Truncate(time.Second).Add(time.Hour)))
		require.NoError(t, w.Status().Patch(t.Context(), agent, from))
		agent.Status.NextRun = nil
		require.NoError(t, w.Status().Update(t.Context(), agent))
	}

	assert.Equal(t, int64(1), w.agent("c").Generation)
	assert.Len(t, w.jobs(), 1)
}

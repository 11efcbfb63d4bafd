package stages_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/examples/settings/controller"
	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

type pass = *stages.Pass[*v1.Settings]

// one is a controller of one stage whose handler calls are counted.
func (r *wire) one(handler func(context.Context, pass) error, options ...stages.Option) *stages.Builder[*v1.Settings] {
	b := stages.For[*v1.Settings]("settings", options...)
	b.Stage("Only").Do(func(ctx context.Context, p pass) error {
		r.count("call")
		return handler(ctx, p)
	})
	return b
}

func nothing(context.Context, pass) error { return nil }

func TestAConflictOnTheStatusWriteStartsThePassOver(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	r.fault = func(kind string, number int, _ *http.Request) (*http.Response, error) {
		if kind == "status" && number == 1 {
			w.edit(func(s *v1.Settings) { s.Labels = map[string]string{"somebody": "else"} })
		}
		return nil, nil
	}
	var calls atomic.Int32
	b := stages.For[*v1.Settings]("settings", stages.Events(false)).Reconcile(func(context.Context, pass) error {
		calls.Add(1)
		return nil
	})
	w.start(r, w.login, newScheme(t, v1.AddToScheme), b)
	w.create("hello")
	w.shows(map[string]string{"Ready": "True/Succeeded"})
	r.settles(t, soon, map[string]int{"status": 2})
	// The second pass has two causes, the conflict and the new label, which the queue may merge.
	assert.Contains(t, []int32{2, 3}, calls.Load())
	assert.Empty(t, r.logged(), "a conflict is no error")
}

func TestALostResponseOfTheStatusWriteIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	r.fault = func(kind string, number int, request *http.Request) (*http.Response, error) {
		if kind == "status" && number == 1 {
			response, err := r.next.RoundTrip(request)
			if err == nil {
				err = errors.Join(errBroken, response.Body.Close())
			}
			return nil, err
		}
		return nil, nil
	}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(nothing, stages.Events(false)))
	w.create("hello")
	r.settles(t, soon, map[string]int{"status": 1, "call": 2})
	w.shows(map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"})
	assert.Len(t, r.logged(), 1)
}

// The back-off is the real one: the writes that fail take half a minute, and the one that succeeds is about a minute
// after the first.
func TestAStatusWriteThatFailsForAMinuteIsRetriedAfterATerminalError(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	var first, last time.Time
	r.fault = func(kind string, number int, request *http.Request) (*http.Response, error) {
		if kind != "status" {
			return nil, nil
		}
		if last = time.Now(); number == 1 {
			first = last
		}
		if number <= 6 {
			return answer(request, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), nil
		}
		return nil, nil
	}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(func(context.Context, pass) error {
		return stages.Terminal(stages.Fail("Broken", "It is broken for good.", errBroken))
	}, stages.Events(false)))
	w.create("hello")
	r.settles(t, 2*time.Minute, map[string]int{"status": 7, "call": 7})
	w.shows(map[string]string{"Only": "False/Broken", "Ready": "False/Broken"})
	assert.Greater(t, last.Sub(first), 45*time.Second, "the delays grow")
}

func TestRejectedEventsLeaveThePassAlone(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	r.fault = func(kind string, _ int, request *http.Request) (*http.Response, error) {
		if kind == "event" {
			return answer(request, http.StatusForbidden, metav1.StatusReasonForbidden), nil
		}
		return nil, nil
	}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(func(_ context.Context, p pass) error {
		p.Event("Normal", "Seen", "See", "It was seen.")
		return nil
	}))
	w.create("hello")
	r.settles(t, soon, map[string]int{"status": 1, "call": 1, "event": 2})
	assert.Empty(t, r.logged())
}

func TestSlowEventsCostTheirBudgetOnly(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	var first, last time.Time
	r.fault = func(kind string, number int, request *http.Request) (*http.Response, error) {
		if kind != "event" {
			return nil, nil
		}
		if number == 1 {
			first = time.Now()
		}
		<-request.Context().Done()
		last = time.Now()
		return nil, request.Context().Err()
	}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(func(_ context.Context, p pass) error {
		for _, reason := range []string{"One", "Two", "Three", "Four"} {
			p.Event("Normal", reason, "See", "It was seen.")
		}
		return nil
	}, stages.EventBudget(500*time.Millisecond, 200*time.Millisecond)))
	w.create("hello")
	w.shows(map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"})
	r.settles(t, soon, map[string]int{"status": 1, "call": 1, "event": 3})
	assert.Less(t, last.Sub(first), 2*time.Second)
}

func TestAWatchWakesAWaitSooner(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), r.one(func(_ context.Context, p pass) error {
		if p.Object().Spec.Message != "go" {
			return stages.Wait("NotYet", "Not yet.", time.Hour)
		}
		return nil
	}, stages.Events(false)))
	w.create("hello")
	w.shows(map[string]string{"Only": "False/NotYet", "Ready": "False/NotYet"})
	w.edit(func(s *v1.Settings) { s.Spec.Message = "go" })
	w.shows(map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"})
	r.settles(t, soon, map[string]int{"status": 2, "call": 2})
}

func TestAPassThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{}
	w.start(r, w.login, newScheme(t, v1.AddToScheme), controller.Staged(stages.Events(false)))
	w.create("hello")
	r.settles(t, soon, map[string]int{"status": 1, "child": 1})

	// A label wakes the controller, which finds nothing to do.
	w.edit(func(s *v1.Settings) { s.Labels = map[string]string{"touched": "yes"} })
	r.settles(t, soon, map[string]int{"status": 1, "child": 1})

	// An added key of somebody else is none of the controller's business.
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key().Name}}
	require.NoError(t, w.client.Patch(t.Context(), child, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"theirs":"yes"}}`))))
	w.edit(func(s *v1.Settings) { s.Spec.Message = "bye" })
	w.holds("bye")
	found := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), w.key(), found))
	assert.Equal(t, map[string]string{"message": "bye", "theirs": "yes"}, found.Data)
}

func TestAnObjectThatTheCacheDoesNotKnowIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &wire{client: func(c client.Client) client.Client { return blind{c} }}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key().Name}, Data: map[string]string{"precious": "yes"}}
	require.NoError(t, w.client.Create(t.Context(), foreign))
	w.start(r, w.login, newScheme(t, v1.AddToScheme), controller.Staged(stages.Events(false)))
	w.create("hello")
	w.shows(map[string]string{"ConfigurationReady": "False/NotOwned", "ChecksumReady": "Unknown/DependencyNotReady", "Ready": "False/NotOwned"})
	found := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), w.key(), found))
	assert.Equal(t, foreign.ResourceVersion, found.ResourceVersion)
}

// blind reads from a cache that has seen no ConfigMap.
type blind struct{ client.Client }

func (b blind) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*corev1.ConfigMap); ok {
		key.Name = "nothing-here"
	}
	return b.Client.Get(ctx, key, obj, opts...)
}

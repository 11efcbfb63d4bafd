package stages_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func say(events ...string) handler {
	return func(_ context.Context, p pass) error {
		for _, e := range events {
			p.Event("Normal", e, "Say", e+" it is.")
		}
		return nil
	}
}

// quiet are the options of a controller that sends only what handlers queue.
func quiet(more ...stages.Option) []stages.Option {
	return append([]stages.Option{stages.Events(true), stages.TransitionEvents(false)}, more...)
}

func (w *world) eventLines() []string {
	lines := []string{}
	for _, e := range w.sentEvents() {
		lines = append(lines, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Action))
	}
	return lines
}

func TestEventsAreSentAfterTheStatusWrite(t *testing.T) {
	w := newWorld(t)
	var order []string
	w.before = func(_ context.Context, what string, _ client.Object) error { order = append(order, what); return nil }
	_, err := w.pass(w.plain(say("One", "Two"), quiet()...))
	require.NoError(t, err)
	assert.Equal(t, []string{"status", "event", "event"}, order)
}

func TestEventsAreCompleteAndInTheObjectsNamespace(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.plain(func(_ context.Context, p pass) error {
		p.Event("Warning", "BackupFailed", "Backup", "The backup failed.")
		return nil
	}, quiet()...))
	require.NoError(t, err)
	sent := w.sentEvents()
	require.Len(t, sent, 1)
	e := sent[0]
	assert.Equal(t, "demo", e.Namespace)
	assert.True(t, strings.HasPrefix(e.Name, "settings."), e.Name)
	assert.Equal(t, "Warning", e.Type)
	assert.Equal(t, "BackupFailed", e.Reason)
	assert.Equal(t, "Backup", e.Action)
	assert.Equal(t, "The backup failed.", e.Note)
	assert.True(t, e.EventTime.Time.Equal(start))
	assert.Equal(t, "settings", e.ReportingController)
	assert.True(t, strings.HasPrefix(e.ReportingInstance, "settings"))
	assert.Equal(t, "Settings", e.Regarding.Kind)
	assert.EqualValues(t, "uid-1", e.Regarding.UID)
}

func TestEventsAboutClusterScopedObjectsGoToTheConfiguredNamespace(t *testing.T) {
	for namespace, options := range map[string][]stages.Option{"default": nil, "kube-system": {stages.EventNamespace("kube-system")}} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-3"}}
		w := newWorld(t, node)
		c, err := stages.For[*corev1.Node]("nodes", options...).Reconcile(func(_ context.Context, p *stages.Pass[*corev1.Node]) error {
			p.Event("Normal", "Seen", "", "Seen.")
			return nil
		}).Build(w.client, w.client)
		require.NoError(t, err)
		_, err = c.Reconcile(w.context(), node)
		require.NoError(t, err)
		require.Len(t, w.sentEvents(), 1)
		assert.Equal(t, namespace, w.sentEvents()[0].Namespace)
	}
}

func TestEventsCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.plain(func(_ context.Context, p pass) error { p.Event("Normal", "One", "", "One."); return errSecret }, stages.Events(false)))
	require.Error(t, err)
	assert.Equal(t, map[string]int{"status": 1}, w.taken(), "and then needs no permission")
}

func TestRepeatedEventsAreSuppressed(t *testing.T) {
	w := newWorld(t)
	c := w.plain(say("One", "One", "Two"), quiet()...)
	_, err := w.pass(c)
	require.NoError(t, err)
	require.Equal(t, 2, w.taken()["event"])
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Zero(t, w.taken()["event"])

	w.clock.Step(31 * time.Minute)
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, 2, w.taken()["event"], "a lasting trouble shows again")

	obj := w.get()
	obj.Generation++
	require.NoError(t, w.client.Update(t.Context(), obj))
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, 2, w.taken()["event"], "a new generation is a new occurrence")
}

func TestAnotherActionOrObjectIsNoRepetition(t *testing.T) {
	other := newSettings()
	other.Name, other.UID = "other", "uid-2"
	w := newWorld(t, newSettings(), other)
	c := w.plain(func(_ context.Context, p pass) error {
		p.Event("Normal", "Moved", "Load", "It is loaded.")
		p.Event("Normal", "Moved", "Unload", "It is unloaded.")
		return nil
	}, quiet()...)
	var list SettingsList
	require.NoError(t, w.client.List(t.Context(), &list))
	for _, obj := range list.Items {
		_, err := c.Reconcile(w.context(), &obj)
		require.NoError(t, err)
		assert.Equal(t, 2, w.taken()["event"], obj.Name)
	}
}

func TestTheEventQueueIsBounded(t *testing.T) {
	w := newWorld(t)
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("Reason%d", i))
	}
	_, err := w.pass(w.plain(say(many...), quiet()...))
	require.NoError(t, err)
	assert.Equal(t, 32, w.taken()["event"])
}

func TestLongNotesAreCutBetweenCharacters(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.plain(func(_ context.Context, p pass) error {
		p.Event("Normal", strings.Repeat("R", 500), strings.Repeat("é", 100), strings.Repeat("世", 1000))
		return nil
	}, quiet()...))
	require.NoError(t, err)
	require.Len(t, w.sentEvents(), 1)
	e := w.sentEvents()[0]
	assert.LessOrEqual(t, len(e.Note), 1024)
	assert.LessOrEqual(t, len(e.Action), 128)
	assert.LessOrEqual(t, len(e.Reason), 128)
	assert.True(t, utf8.ValidString(e.Note) && utf8.ValidString(e.Action))
}

func TestALongNameIsCutInTheReportingInstance(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("s", 128)
	_, err := w.pass(w.build(stages.For[*Settings](name, w.options(quiet()...)...).Reconcile(say("One"))))
	require.NoError(t, err)
	require.Len(t, w.sentEvents(), 1)
	assert.Equal(t, name, w.sentEvents()[0].ReportingController)
	assert.Len(t, w.sentEvents()[0].ReportingInstance, 128)
}

func TestTransitionsGiveNormalAndFailuresWarningEvents(t *testing.T) {
	w := newWorld(t)
	given := error(nil)
	words := "Configured"
	c := w.chain([]handler{func(_ context.Context, p pass) error { p.Reached(words, "Done."); return given }, succeed}, stages.Events(true))
	steps := []struct {
		name  string
		given error
		words string
		want  []string
	}{
		{"first success", nil, "Configured", []string{"Normal Configured Condition1", "Normal Succeeded Condition2"}},
		{"no change", nil, "Configured", nil},
		{"another reason", nil, "Reconfigured", []string{"Normal Reconfigured Condition1"}},
		{"a wait", stages.Wait("NotYet", "Not yet.", 0), "", []string{"Normal NotYet Condition1"}},
		{"the same wait with another message", stages.Wait("NotYet", "Still not.", 0), "", nil},
		{"a stop", stages.Stop("Refused", "Refused."), "", []string{"Normal Refused Condition1"}},
		{"a failure", errForbidden, "", []string{"Warning Forbidden Condition1"}},
		{"the same failure", errForbidden, "", nil},
	}
	for _, s := range steps {
		given, words = s.given, s.words
		var sent []string
		w.before = func(_ context.Context, what string, obj client.Object) error {
			if e, ok := obj.(*eventsv1.Event); ok {
				sent = append(sent, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Action))
			}
			return nil
		}
		_, _ = w.pass(c)
		assert.Equal(t, s.want, sent, s.name)
	}
}

func TestWithoutStagesReadyGivesTheEvents(t *testing.T) {
	w := newWorld(t)
	given := error(nil)
	c := w.plain(func(context.Context, pass) error { return given }, stages.Events(true))
	_, err := w.pass(c)
	require.NoError(t, err)
	given = errForbidden
	_, err = w.pass(c)
	require.Error(t, err)
	assert.ElementsMatch(t, []string{"Normal Succeeded Ready", "Warning Forbidden Ready"}, w.eventLines())
}

func TestTransitionEventsCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t)
	given := stages.Stop("Refused", "Refused.")
	c := w.chain([]handler{say("Mine"), func(context.Context, pass) error { return given }}, quiet()...)
	_, err := w.pass(c)
	require.NoError(t, err)
	given = errForbidden
	_, err = w.pass(c)
	require.Error(t, err)
	assert.ElementsMatch(t, []string{"Normal Mine Say", "Warning Forbidden Condition2"}, w.eventLines())
}

func TestRejectedEventsNeverRetryTheWork(t *testing.T) {
	w := newWorld(t)
	w.before = func(_ context.Context, what string, _ client.Object) error {
		if what == "event" {
			return errors.New("rejected")
		}
		return nil
	}
	calls := 0
	c := w.plain(func(ctx context.Context, p pass) error { calls++; return say("One", "Two")(ctx, p) }, quiet()...)
	result, err := w.pass(c)
	require.NoError(t, err)
	assert.Zero(t, result)
	assert.Empty(t, w.errors)
	assert.Equal(t, map[string]int{"status": 1, "event": 2}, w.taken())
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Empty(t, w.taken(), "a lost Event is not sent again")
	assert.Equal(t, 2, calls)
}

func TestSlowEventsStayWithinTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		options  []stages.Option
		slow     time.Duration
		events   []string
		attempts int
		takes    time.Duration
	}{
		"by default each has one second": {nil, time.Hour, []string{"One"}, 1, time.Second},
		"by default all have two":        {nil, 800 * time.Millisecond, []string{"One", "Two", "Three", "Four"}, 3, 2 * time.Second},
		"each request is bounded":        {[]stages.Option{stages.EventBudget(time.Hour, time.Minute)}, time.Hour, []string{"One", "Two", "Three"}, 3, 3 * time.Minute},
		"the budget bounds all together": {[]stages.Option{stages.EventBudget(time.Minute, time.Hour)}, time.Hour, []string{"One", "Two", "Three"}, 1, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.before = func(ctx context.Context, what string, _ client.Object) error {
					if what != "event" {
						return nil
					}
					select {
					case <-ctx.Done():
					case <-time.After(c.slow):
					}
					return ctx.Err()
				}
				began := time.Now()
				result, err := w.pass(w.plain(say(c.events...), quiet(c.options...)...))
				require.NoError(t, err)
				assert.Zero(t, result)
				assert.Equal(t, c.takes, time.Since(began))
				assert.Equal(t, c.attempts, w.taken()["event"])
				assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])
			})
		})
	}
}

func TestEventsOutliveTheHandlerDeadlineAndAShutdown(t *testing.T) {
	w := newWorld(t)
	ctx, shutDown := context.WithCancel(w.context())
	w.before = func(ctx context.Context, _ string, _ client.Object) error { return ctx.Err() }
	_, err := w.plain(func(handlerCtx context.Context, p pass) error {
		p.Event("Normal", "One", "", "One.")
		<-handlerCtx.Done()
		shutDown()
		return nil
	}, quiet(stages.Timeout(time.Millisecond))...).Reconcile(ctx, w.get())
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"status": 1, "event": 1}, w.taken())
}

func TestEventsOfAPassThatCouldNotReportAreDropped(t *testing.T) {
	w := newWorld(t)
	down := true
	w.before = func(_ context.Context, what string, _ client.Object) error {
		if down && what == "status" {
			return errors.New("down")
		}
		return nil
	}
	c := w.plain(say("One"), quiet()...)
	_, err := w.pass(c)
	require.Error(t, err)
	assert.Zero(t, w.taken()["event"])
	down = false
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, []string{"Normal One Say"}, w.eventLines())
}

package stages_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestEqualObservationsWriteNothing(t *testing.T) {
	w := newWorld(t)
	for name, given := range map[string]error{"success": nil, "wait": stages.Wait("NotYet", "Not yet.", 0), "failure": errSecret} {
		t.Run(name, func(t *testing.T) {
			c := w.chain([]handler{func(_ context.Context, p pass) error { p.Object().Status.Checksum = "same"; return nil }, give(given), succeed})
			_, _ = w.pass(c)
			require.Equal(t, map[string]int{"status": 1}, w.taken())
			w.clock.Step(time.Hour)
			_, _ = w.pass(c)
			assert.Empty(t, w.taken())
		})
	}
}

func TestTransitionTimeMovesOnlyWithTheTruth(t *testing.T) {
	w := newWorld(t)
	given := stages.Wait("First", "First.", 0)
	c := w.chain([]handler{func(context.Context, pass) error { return given }})
	moved := func() metav1.Time {
		w.clock.Step(time.Minute)
		_, err := w.pass(c)
		require.NoError(t, err)
		condition, ok := stages.GetCondition(w.get(), "Condition1")
		require.True(t, ok)
		return condition.LastTransitionTime
	}
	first := moved()
	assert.True(t, first.Time.Equal(start.Add(time.Minute)))
	given = stages.Wait("Second", "Another message.", 0)
	assert.Equal(t, first, moved(), "reason and message changed")
	obj := w.get()
	obj.Generation = 4
	require.NoError(t, w.client.Update(t.Context(), obj))
	assert.Equal(t, first, moved(), "the generation changed")
	given = nil
	assert.True(t, moved().Time.Equal(start.Add(4*time.Minute)), "the truth changed")
}

func TestObservedGenerationMeansExamined(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.chain([]handler{give(errSecret), succeed}))
	require.Error(t, err)
	obj := w.get()
	assert.EqualValues(t, 3, obj.Status.ObservedGeneration)
	for _, c := range obj.Status.Conditions {
		assert.EqualValues(t, 3, c.ObservedGeneration, c.Type)
	}
}

func TestExplicitStatusPersistsOnFailure(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.chain([]handler{func(_ context.Context, p pass) error {
		p.Object().Status.Checksum = "observed"
		p.Condition("Extra", metav1.ConditionTrue, "Seen", "Seen.")
		return errSecret
	}}))
	require.Error(t, err)
	assert.Equal(t, "observed", w.get().Status.Checksum)
	assert.Equal(t, "True/Seen", w.conditions()["Extra"])
}

func TestPartialEditsOfSpecAndMetadataNeverPersist(t *testing.T) {
	for name, given := range map[string]error{"succeeding": nil, "failing": errSecret, "waiting": stages.Wait("W", "W.", 0)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, _ = w.pass(w.plain(func(_ context.Context, p pass) error {
				p.Object().Spec.Message = "edited"
				p.Object().Labels = map[string]string{"edited": "yes"}
				p.Object().Status.Checksum = "explicit"
				return given
			}))
			obj := w.get()
			assert.Equal(t, "hello", obj.Spec.Message)
			assert.Empty(t, obj.Labels)
			assert.Equal(t, "explicit", obj.Status.Checksum)
			assert.Equal(t, map[string]int{"status": 1}, w.taken())
		})
	}
}

func TestAutomaticConditionsAreReserved(t *testing.T) {
	for name, reserved := range map[string]string{"Ready": "Ready", "the stage's own condition": "Condition1", "a later stage's condition": "Condition2"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.pass(w.chain([]handler{func(_ context.Context, p pass) error {
				p.Condition(reserved, metav1.ConditionTrue, "Mine", "Mine.")
				return errStale
			}, succeed}))
			require.ErrorContains(t, err, "condition "+reserved+" is reserved to the runtime")
			assert.Equal(t, map[string]string{"Condition1": "False/Panic", "Condition2": "Unknown/DependencyNotReady", "Ready": "False/Panic"}, w.conditions())
		})
	}
	t.Run("in the summary", func(t *testing.T) {
		w := newWorld(t)
		b := stages.For[*Settings]("settings", w.options()...).Reconcile(succeed).
			Summarize(func(p pass, _ stages.Outcome) { p.Condition("Ready", metav1.ConditionTrue, "Mine", "Mine.") })
		_, err := w.pass(w.build(b))
		require.Error(t, err)
		assert.Equal(t, "False/Panic", w.conditions()["Ready"])
	})
	t.Run("written into the object", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.pass(w.chain([]handler{func(_ context.Context, p pass) error {
			p.Object().Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Mine"}, {Type: "Condition1", Reason: "Mine"}}
			p.Object().Status.ObservedGeneration = 99
			return errSecret
		}}))
		require.Error(t, err)
		assert.Equal(t, map[string]string{"Condition1": "False/Error", "Ready": "False/Error"}, w.conditions())
		assert.EqualValues(t, 3, w.get().Status.ObservedGeneration)
	})
}

func TestConditionsOfATypeWithoutThemAreABug(t *testing.T) {
	child := &corev1.ConfigMap{}
	child.Name, child.Namespace = key.Name, key.Namespace
	w := newWorld(t, child)
	c, err := stages.For[*corev1.ConfigMap]("maps", stages.Events(false)).Reconcile(func(_ context.Context, p *stages.Pass[*corev1.ConfigMap]) error {
		p.Condition("Extra", metav1.ConditionTrue, "R", "M.")
		return nil
	}).Build(w.client, w.client)
	require.NoError(t, err)
	_, err = c.Reconcile(w.context(), child)
	assert.ErrorContains(t, err, "*v1.ConfigMap has no conditions")
}

func TestTheObjectShowsTheStagedStatus(t *testing.T) {
	w := newWorld(t)
	given := w.get()
	kept := given.DeepCopyObject()
	_, err := w.plain(func(_ context.Context, p pass) error {
		p.Object().Status.Notes = append(p.Object().Status.Notes, "one")
		p.Condition("Extra", metav1.ConditionTrue, "Seen", "Seen.")
		_, found := stages.GetCondition(p.Object(), "Extra")
		assert.True(t, found)
		assert.Equal(t, start, p.Now())
		return nil
	}).Reconcile(w.context(), given)
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, w.get().Status.Notes)
	assert.Equal(t, kept, client.Object(given), "the object as read is not changed")
}

func TestRetiredConditionsAreCleared(t *testing.T) {
	obj := newSettings()
	for _, conditionType := range []string{"Old", "Shared", "Foreign"} {
		obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Before", LastTransitionTime: metav1.NewTime(start)})
	}
	w := newWorld(t, obj)
	c := w.chain([]handler{func(_ context.Context, p pass) error {
		p.Condition("Shared", metav1.ConditionFalse, "Now", "Now.")
		return errSecret
	}, succeed}, stages.Retire("Old", "Shared", "Condition2"))
	_, err := w.pass(c)
	require.Error(t, err)
	assert.Equal(t, map[string]string{
		"Shared": "False/Now", "Foreign": "True/Before", "Condition1": "False/Error", "Condition2": "Unknown/DependencyNotReady", "Ready": "False/Error",
	}, w.conditions())
}

func TestReportingCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t)
	c := w.chain([]handler{succeed}, stages.ReportStatus(false))
	_, err := w.pass(c)
	require.NoError(t, err)
	assert.Empty(t, w.taken())

	_, err = w.pass(w.plain(func(_ context.Context, p pass) error { p.Object().Status.Checksum = "explicit"; return errSecret }, stages.ReportStatus(false)))
	require.Error(t, err)
	assert.Equal(t, "explicit", w.get().Status.Checksum)
	assert.Empty(t, w.conditions())
}

func TestReadingAConditionReturnsACopy(t *testing.T) {
	obj := newSettings()
	obj.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: "Before"}}
	c, ok := stages.GetCondition(obj, "Ready")
	require.True(t, ok)
	c.Reason = "Changed"
	assert.Equal(t, "Before", obj.Status.Conditions[0].Reason)
	_, ok = stages.GetCondition(obj, "Missing")
	assert.False(t, ok)
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 5000), "x" + strings.Repeat("世", 5000), strings.Repeat("a", 40000)} {
		w := newWorld(t)
		_, err := w.pass(w.plain(give(stages.Wait("Long", text, 0))))
		require.NoError(t, err)
		c, _ := stages.GetCondition(w.get(), "Ready")
		assert.True(t, utf8.ValidString(c.Message))
		assert.LessOrEqual(t, len(c.Message), 4096)
		assert.Greater(t, len(c.Message), 4090)
		assert.True(t, strings.HasSuffix(c.Message, " (cut)"))
	}
}

// JSON replaces bytes that are no character, so the status as read would differ from them in every pass.
func TestTextThatIsNoUTF8IsWrittenOnce(t *testing.T) {
	w := newWorld(t)
	c := w.plain(give(stages.Wait("Broken", "The program said \xff.", 0)))
	for range 2 {
		_, err := w.pass(c)
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]int{"status": 1}, w.taken())
	assert.Equal(t, "The program said \ufffd.", w.get().Status.Conditions[0].Message)
}

func TestReasonsAreMadeAcceptable(t *testing.T) {
	for given, want := range map[string]string{
		"ImagePullBackOff":         "ImagePullBackOff",
		"":                         "Waiting",
		"Not a reason: really, no": "Notareason:really,no",
		"42Things":                 "Things",
		"ends:,":                   "ends",
		"日本":                       "Waiting",
		strings.Repeat("a", 2000):  strings.Repeat("a", 1024),
	} {
		w := newWorld(t)
		_, err := w.pass(w.plain(give(stages.Wait(given, "m", 0))))
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"Ready": "False/" + want}, w.conditions())
	}
}

func TestTheStatusWriteIsGuardedByUIDAndResourceVersion(t *testing.T) {
	w := newWorld(t)
	old := w.get()
	w.before = func(_ context.Context, what string, obj client.Object) error {
		assert.Equal(t, "status", what)
		assert.Equal(t, old.UID, obj.GetUID())
		assert.Equal(t, old.ResourceVersion, obj.GetResourceVersion())
		return nil
	}
	_, err := w.pass(w.plain(succeed))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"status": 1}, w.taken())
}

func TestALostResponseOfTheStatusWriteCostsOneMorePass(t *testing.T) {
	w := newWorld(t)
	lost := true
	w.after = func(context.Context, string, client.Object) error {
		if lost {
			lost = false
			return errors.New("connection reset")
		}
		return nil
	}
	calls := 0
	c := w.plain(func(context.Context, pass) error { calls++; return nil })
	_, err := w.pass(c)
	require.ErrorContains(t, err, "write the status")
	result, err := w.pass(c)
	require.NoError(t, err)
	assert.Zero(t, result)
	assert.Equal(t, 2, calls)
	assert.Equal(t, map[string]int{"status": 1}, w.taken(), "the write that arrived is not repeated")
}

func TestAFailedStatusWriteIsRetriedEvenAfterATerminalError(t *testing.T) {
	w := newWorld(t)
	down := true
	w.before = func(context.Context, string, client.Object) error {
		if down {
			return apierrors.NewServiceUnavailable("down")
		}
		return nil
	}
	c := w.plain(give(stages.Terminal(errSecret)))
	_, err := w.pass(c)
	require.ErrorContains(t, err, "write the status")
	assert.NotErrorIs(t, err, reconcile.TerminalError(nil), "controller-runtime must retry")
	assert.ErrorContains(t, err, "hunter2", "the failure that could not be reported is in the log")

	down = false
	_, err = w.pass(c)
	assert.ErrorIs(t, err, reconcile.TerminalError(nil))
	assert.Equal(t, "False/Error", w.conditions()["Ready"])
	assert.Equal(t, map[string]int{"status": 2}, w.taken())
}

func TestAnObjectThatIsGoneIsNoFailure(t *testing.T) {
	w := newWorld(t)
	old := w.get()
	require.NoError(t, w.client.Delete(t.Context(), old))
	result, err := w.plain(succeed, stages.Every(time.Hour)).Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Zero(t, result)
}

// resources is a discovery client with a fixed answer.
type resources struct {
	discovery.ServerResourcesInterface
	names []string
	err   error
}

func (r *resources) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	for _, name := range r.names {
		plural, _, _ := strings.Cut(name, "/")
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: map[string]string{"settings": "Settings", "others": "Other"}[plural]})
	}
	return list, r.err
}

func TestDiscoveryDecidesWhereStatusGoes(t *testing.T) {
	for name, c := range map[string]struct {
		served   []string
		want     map[string]int
		observed int64
	}{
		"to the subresource":        {[]string{"settings", "settings/status"}, map[string]int{"status": 1}, 3},
		"to the object without one": {[]string{"settings", "settings/scale", "others/status"}, map[string]int{"patch": 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.observed == 0 {
				w = newWorldWithoutSubresource(t)
			}
			ctrl := w.plain(succeed)
			require.NoError(t, ctrl.Discover(&resources{names: c.served}))
			for range 2 {
				_, err := w.pass(ctrl)
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, w.taken(), "and an equal observation writes nothing")
			assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])
			assert.Equal(t, c.observed, w.get().Status.ObservedGeneration, "a generation that counts status writes is not reported")
		})
	}
	t.Run("nowhere while it is down", func(t *testing.T) {
		assert.ErrorContains(t, newWorld(t).plain(succeed).Discover(&resources{err: errors.New("down")}), "discover the status subresource of Settings")
	})
}

func TestAPassWaitsForTheCacheToSeeTheOwnReport(t *testing.T) {
	w := newWorld(t)
	old, calls := w.get(), 0
	c := w.plain(func(context.Context, pass) error { calls++; return nil })
	_, err := w.pass(c)
	require.NoError(t, err)
	w.taken()

	result, err := c.Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
	assert.Empty(t, w.taken(), "no write that can only conflict")
	assert.Equal(t, 1, calls)
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, 2, calls)

	w.clock.Step(2 * time.Minute)
	_, err = c.Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, 3, calls, "a cache that never catches up does not stop the work")
}

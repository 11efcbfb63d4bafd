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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func setChecksum(value string) func(*Settings) {
	return func(s *Settings) { s.Status.Checksum = value }
}

func TestEqualObservationsWriteNothing(t *testing.T) {
	w := newWorld(t)
	for name, given := range map[string]error{"success": nil, "wait": stages.Wait("NotYet", "Not yet.", 0), "failure": errSecret} {
		t.Run(name, func(t *testing.T) {
			c := w.chain([]handler{func(_ context.Context, p pass) error { p.SetStatus(setChecksum("same")); return nil }, give(given), succeed})
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
		p.SetStatus(setChecksum("observed"))
		p.Condition("Extra", metav1.ConditionTrue, "Seen", "Seen.")
		return errSecret
	}}))
	require.Error(t, err)
	assert.Equal(t, "observed", w.get().Status.Checksum)
	assert.Equal(t, "True/Seen", w.conditions()["Extra"])
}

func TestPartialEditsOfSpecAndMetadataNeverPersist(t *testing.T) {
	edit := func(s *Settings) {
		s.Spec.Message = "edited"
		s.Labels = map[string]string{"edited": "yes"}
		s.Status.Notes = append(s.Status.Notes, "edited")
	}
	for name, h := range map[string]handler{
		"in SetStatus":             func(_ context.Context, p pass) error { p.SetStatus(edit); return nil },
		"without Save":             func(_ context.Context, p pass) error { edit(p.Object()); return nil },
		"with Save, but failing":   func(_ context.Context, p pass) error { edit(p.Object()); p.Save(); return errSecret },
		"with Save, but waiting":   func(_ context.Context, p pass) error { edit(p.Object()); p.Save(); return stages.Wait("W", "W.", 0) },
		"with Save, but panicking": func(_ context.Context, p pass) error { edit(p.Object()); p.Save(); panic("oops") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, _ = w.pass(w.plain(h))
			obj := w.get()
			assert.Equal(t, "hello", obj.Spec.Message)
			assert.Empty(t, obj.Labels)
			assert.Equal(t, name == "in SetStatus", len(obj.Status.Notes) > 0, "status is set by SetStatus only")
			assert.Zero(t, w.taken()["patch"])
		})
	}
}

func TestAModifiedPrimaryIsSavedAfterSuccess(t *testing.T) {
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...).Otherwise(func(_ context.Context, p pass) error {
		p.Object().Labels = map[string]string{"saved": "yes"}
		p.Object().Status.Checksum = "not this way"
		p.SetStatus(setChecksum("this way"))
		p.Save()
		return nil
	})
	_, err := w.pass(w.build(b))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"patch": 1, "status": 1}, w.taken())
	assert.Equal(t, map[string]string{"saved": "yes"}, w.get().Labels)
	assert.Equal(t, "this way", w.get().Status.Checksum)
	assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])

	_, err = w.pass(w.build(b))
	require.NoError(t, err)
	assert.Empty(t, w.taken(), "nothing to save the second time")
}

func TestASaveLeavesTheStatusAlone(t *testing.T) {
	w := newWorldWithoutSubresource(t)
	_, err := w.pass(w.plain(func(_ context.Context, p pass) error {
		p.Object().Labels = map[string]string{"saved": "yes"}
		p.Object().Status.Checksum = "not this way"
		p.Save()
		return nil
	}, stages.Discovery(&resources{names: []string{"settings"}})))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"patch": 2}, w.taken())
	assert.Equal(t, map[string]string{"saved": "yes"}, w.get().Labels)
	assert.Empty(t, w.get().Status.Checksum)
	assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])
}

func TestASaveThatFailsFailsThePass(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		ready string
	}{
		"refused":  {errForbidden, "False/Forbidden"},
		"conflict": {errStale, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.before = func(_ context.Context, what string, _ client.Object) error {
				if what == "patch" {
					return c.err
				}
				return nil
			}
			_, err := w.pass(w.plain(func(_ context.Context, p pass) error {
				p.Object().Labels = map[string]string{"a": "b"}
				p.Save()
				return nil
			}))
			assert.Equal(t, name == "refused", err != nil)
			assert.Equal(t, c.ready, w.conditions()["Ready"])
		})
	}
}

func TestAutomaticConditionsAreReserved(t *testing.T) {
	for name, misuse := range map[string]func(pass){
		"Ready":                      func(p pass) { p.Condition("Ready", metav1.ConditionTrue, "Mine", "Mine.") },
		"the stage's own condition":  func(p pass) { p.Condition("Condition1", metav1.ConditionTrue, "Mine", "Mine.") },
		"a later stage's condition":  func(p pass) { p.Condition("Condition2", metav1.ConditionTrue, "Mine", "Mine.") },
		"removing a reserved one":    func(p pass) { p.RemoveCondition("Ready") },
		"saving the object in stage": func(p pass) { p.Save() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.pass(w.chain([]handler{func(_ context.Context, p pass) error { misuse(p); return errStale }, succeed}))
			require.Error(t, err, "even a handler that returns a conflict cannot hide it")
			assert.Equal(t, map[string]string{"Condition1": "False/Misuse", "Condition2": "Unknown/DependencyNotReady", "Ready": "False/Misuse"}, w.conditions())
		})
	}
	t.Run("in the summary", func(t *testing.T) {
		w := newWorld(t)
		b := stages.For[*Settings]("settings", w.options()...).Reconcile(succeed).
			Summarize(func(p pass, _ stages.Outcome) { p.Condition("Ready", metav1.ConditionTrue, "Mine", "Mine.") })
		_, err := w.pass(w.build(b))
		require.Error(t, err)
		assert.Equal(t, "False/Misuse", w.conditions()["Ready"])
	})
	t.Run("before the stages run", func(t *testing.T) {
		w := newWorld(t)
		run, err := stages.Pipeline[*Settings]{Stages: []*stages.Stage[*Settings]{{Name: "a", Condition: "A", Handler: succeed}}}.Compile()
		require.NoError(t, err)
		_, err = w.pass(w.plain(func(ctx context.Context, p pass) error {
			p.Condition("A", metav1.ConditionTrue, "Mine", "Mine.")
			return run(ctx, p)
		}))
		assert.ErrorContains(t, err, `reserved for stage "a"`)
	})
	t.Run("SetStatus leaves conditions alone", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.pass(w.plain(func(_ context.Context, p pass) error {
			p.Condition("Extra", metav1.ConditionTrue, "Seen", "Seen.")
			p.SetStatus(func(s *Settings) { s.Status.Conditions = []metav1.Condition{{Type: "Smuggled"}} })
			return nil
		}))
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"Extra": "True/Seen", "Ready": "True/Succeeded"}, w.conditions())
	})
}

func TestStatusOfATypeWithoutOneIsAMisuse(t *testing.T) {
	child := &corev1.ConfigMap{}
	child.Name, child.Namespace = key.Name, key.Namespace
	for name, misuse := range map[string]func(*stages.Pass[*corev1.ConfigMap]){
		"SetStatus": func(p *stages.Pass[*corev1.ConfigMap]) { p.SetStatus(func(*corev1.ConfigMap) {}) },
		"Condition": func(p *stages.Pass[*corev1.ConfigMap]) { p.Condition("Extra", metav1.ConditionTrue, "R", "M.") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, child)
			c, err := stages.For[*corev1.ConfigMap]("maps", stages.Events(false)).Reconcile(func(_ context.Context, p *stages.Pass[*corev1.ConfigMap]) error {
				misuse(p)
				return nil
			}).Build(w.client, w.client)
			require.NoError(t, err)
			_, err = c.Reconcile(w.context(), child)
			assert.ErrorContains(t, err, "*v1.ConfigMap has no")
		})
	}
}

func TestTheObjectShowsTheStagedStatus(t *testing.T) {
	w := newWorld(t)
	given := w.get()
	_, err := w.plain(func(_ context.Context, p pass) error {
		p.SetStatus(func(s *Settings) { s.Status.Notes = []string{"one"} })
		p.Condition("Extra", metav1.ConditionTrue, "Seen", "Seen.")
		assert.Equal(t, []string{"one"}, p.Object().Status.Notes)
		_, found := stages.GetCondition(p.Object(), "Extra")
		assert.True(t, found)
		p.Object().Status.Notes[0] = "edited" // Must not reach what is written.
		p.SetStatus(func(s *Settings) { s.Status.Notes = append(s.Status.Notes, "two") })
		assert.Equal(t, start, p.Now())
		return nil
	}).Reconcile(w.context(), given)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, w.get().Status.Notes)
	assert.Empty(t, given.Status.Notes, "the object as read is not changed")
}

func TestRetiredConditionsAreCleared(t *testing.T) {
	obj := newSettings()
	for _, conditionType := range []string{"Old", "Shared", "Foreign", "Dropped"} {
		obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Before", LastTransitionTime: metav1.NewTime(start)})
	}
	w := newWorld(t, obj)
	c := w.chain([]handler{func(_ context.Context, p pass) error {
		p.Condition("Shared", metav1.ConditionFalse, "Now", "Now.")
		p.RemoveCondition("Dropped")
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

	_, err = w.pass(w.plain(func(_ context.Context, p pass) error { p.SetStatus(setChecksum("explicit")); return errSecret }, stages.ReportStatus(false)))
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

func TestAConflictRestartsQuietly(t *testing.T) {
	w := newWorld(t)
	old := w.get()
	obj := w.get()
	obj.Labels = map[string]string{"somebody": "else"}
	require.NoError(t, w.client.Update(t.Context(), obj))
	w.taken()
	calls := 0
	c := w.plain(func(context.Context, pass) error { calls++; return errSecret }, stages.Events(true))

	result, err := c.Reconcile(w.context(), old)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Result{RequeueAfter: 200 * time.Millisecond}, result)
	assert.Empty(t, w.errors)
	assert.Equal(t, map[string]int{"status": 1}, w.taken(), "one attempt, no Events")

	_, err = w.pass(c)
	require.Error(t, err)
	assert.Equal(t, 2, calls, "the whole reconcile runs again")
	assert.Equal(t, "False/Error", w.conditions()["Ready"])
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
	require.Len(t, w.errors, 1, "the failure that could not be reported is in the log")
	assert.Contains(t, w.errors[0], "hunter2")

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
	names []string
	err   error
	calls int
}

func (r *resources) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	r.calls++
	list := &metav1.APIResourceList{}
	for _, name := range r.names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Settings"})
	}
	return list, r.err
}

func TestDiscoveryDecidesWhereStatusGoes(t *testing.T) {
	for name, c := range map[string]struct {
		discovery *resources
		want      map[string]int
		observed  int64
	}{
		"to the subresource":        {&resources{names: []string{"settings", "settings/status"}}, map[string]int{"status": 1}, 3},
		"to the object without one": {&resources{names: []string{"settings", "settings/scale"}}, map[string]int{"patch": 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.observed == 0 {
				w = newWorldWithoutSubresource(t)
			}
			ctrl := w.plain(succeed, stages.Discovery(c.discovery))
			for range 2 {
				_, err := w.pass(ctrl)
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, w.taken(), "and an equal observation writes nothing")
			assert.Equal(t, "True/Succeeded", w.conditions()["Ready"])
			assert.Equal(t, c.observed, w.get().Status.ObservedGeneration, "a generation that counts status writes is not reported")
			assert.Equal(t, 1, c.discovery.calls, "the answer is kept")
		})
	}
	t.Run("nowhere while it is down", func(t *testing.T) {
		w, down, calls := newWorld(t), &resources{err: errors.New("down")}, 0
		ctrl := w.plain(func(context.Context, pass) error { calls++; return nil }, stages.Discovery(down))
		_, err := w.pass(ctrl)
		require.ErrorContains(t, err, "discover the status subresource")
		assert.Zero(t, calls)
		*down = resources{names: []string{"settings/status"}}
		_, err = w.pass(ctrl)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"status": 1}, w.taken(), "a failed discovery is not kept")
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

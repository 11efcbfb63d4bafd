package stages_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestEveryPassStartsAtTheFirstStage(t *testing.T) {
	w := newWorld(t)
	var ran []string
	var second error
	handlers := []handler{
		func(context.Context, pass) error { ran = append(ran, "first"); return nil },
		func(context.Context, pass) error { ran = append(ran, "second"); return second },
	}
	c := w.chain(handlers)
	_, err := w.pass(c)
	require.NoError(t, err)
	second = errors.New("broken")
	_, err = w.pass(c)
	require.Error(t, err)
	second = nil
	_, err = w.pass(w.chain(handlers)) // As after a restart.
	require.NoError(t, err)
	assert.Equal(t, []string{"first", "second", "first", "second", "first", "second"}, ran)
}

func TestConditionsAreObservations(t *testing.T) {
	w := newWorld(t)
	var first error
	c := w.chain([]handler{func(context.Context, pass) error { return first }, succeed, succeed})
	_, err := w.pass(c)
	require.NoError(t, err)
	require.Equal(t, "True/Succeeded", w.conditions()["Condition3"])

	first = stages.Wait("Broken", "Broken after success.", 0)
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"Condition1": "False/Broken", "Condition2": "Unknown/DependencyNotReady", "Condition3": "Unknown/DependencyNotReady", "Ready": "False/Broken",
	}, w.conditions())
}

func TestWaitingOrFailingStopsBeforeLaterStages(t *testing.T) {
	for name, err := range map[string]error{
		"waiting":            stages.Wait("NotYet", "Not yet.", 0),
		"stopping":           stages.Stop("Refused", "Refused."),
		"failing":            errors.New("broken"),
		"failing for good":   stages.Terminal(errors.New("broken")),
		"failing with words": stages.Fail("Down", "It is down.", errors.New("broken")),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			later := 0
			c := w.chain([]handler{succeed, give(err), func(context.Context, pass) error { later++; return nil }})
			_, _ = w.pass(c)
			assert.Zero(t, later)
			assert.Equal(t, "True/Succeeded", w.conditions()["Condition1"])
			assert.Equal(t, "Unknown/DependencyNotReady", w.conditions()["Condition3"])
		})
	}
}

// branches are three cases in a chain and the otherwise; the first whose name is in apply runs.
func branches(ran, asked *[]string, apply map[string]bool, outcome error) []stages.Case[*Settings] {
	mark := func(name string) handler {
		return func(context.Context, pass) error { *ran = append(*ran, name); return outcome }
	}
	when := func(name string) stages.Predicate[*Settings] {
		return func(*Settings, pass) bool { *asked = append(*asked, name); return apply[name] }
	}
	return []stages.Case[*Settings]{
		{Name: "c", When: when("c"), Do: mark("c"), After: []string{"b"}},
		{Name: "otherwise", Do: mark("otherwise")},
		{Name: "a", When: when("a"), Do: mark("a")},
		{Name: "b", When: when("b"), Do: mark("b"), After: []string{"a"}},
	}
}

func TestTheFirstMatchRuns(t *testing.T) {
	for name, c := range map[string]struct {
		apply      map[string]bool
		ran, asked []string
	}{
		"only the first of two matches": {map[string]bool{"b": true, "c": true}, []string{"b"}, []string{"a", "b"}},
		"otherwise when none matches":   {nil, []string{"otherwise"}, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var ran, asked []string
			b := stages.For[*Settings]("settings", w.options()...)
			b.Stage("Only").Cases = branches(&ran, &asked, c.apply, nil)
			_, err := w.pass(w.build(b))
			require.NoError(t, err)
			assert.Equal(t, c.ran, ran)
			assert.Equal(t, c.asked, asked)
			assert.Equal(t, map[string]string{"Only": "True/Succeeded", "Ready": "True/Succeeded"}, w.conditions(), "branches create no conditions of their own")
		})
	}
}

func TestWaitingDoesNotFallThrough(t *testing.T) {
	w := newWorld(t)
	var ran, asked []string
	b := stages.For[*Settings]("settings", w.options()...)
	b.Stage("Only").Cases = branches(&ran, &asked, map[string]bool{"a": true, "b": true}, stages.Wait("Suspended", "", 0))
	_, err := w.pass(w.build(b))
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, ran)
	assert.Equal(t, map[string]string{"Only": "False/Suspended", "Ready": "False/Suspended"}, w.conditions())
}

func TestRootCasesReportThroughReady(t *testing.T) {
	w := newWorld(t)
	suspended := func(obj *Settings, _ pass) bool { return obj.Spec.Suspended }
	b := stages.For[*Settings]("settings", w.options()...)
	b.Root().
		Case("suspended", suspended, give(stages.Wait("Suspended", "Suspended.", 0))).
		Otherwise(func(_ context.Context, p pass) error { p.Reached("Configured", "It is configured."); return nil })
	c := w.build(b)
	_, err := w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"Ready": "True/Configured"}, w.conditions())

	obj := w.get()
	obj.Spec.Suspended = true
	require.NoError(t, w.client.Update(t.Context(), obj))
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"Ready": "False/Suspended"}, w.conditions())
}

func TestAPanickingPredicateIsAFailureOfThatObject(t *testing.T) {
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...)
	b.Stage("Only").
		Case("bad", func(*Settings, pass) bool { panic("secret text") }, succeed).Otherwise(succeed)
	_, err := w.pass(w.build(b))
	require.Error(t, err, "it is retried")
	assert.Equal(t, map[string]string{"Only": "False/Panic", "Ready": "False/Panic"}, w.conditions())
}

func TestPredicatesSeeThePass(t *testing.T) {
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...)
	b.Stage("Observed").Do(func(_ context.Context, p pass) error { stages.Put(p, 42); return nil })
	var seen []int
	b.Stage("Decided").After("Observed").
		Case("seen", func(_ *Settings, p pass) bool { v, ok := stages.Value[int](p); seen = append(seen, v); return ok }, succeed).
		Otherwise(give(errors.New("the value is lost")))
	c := w.build(b)
	_, err := w.pass(c)
	require.NoError(t, err)
	assert.Equal(t, []int{42}, seen)
}

func TestValuesLiveForOnePass(t *testing.T) {
	w := newWorld(t)
	var found []bool
	c := w.plain(func(_ context.Context, p pass) error {
		_, ok := stages.Value[string](p)
		found = append(found, ok)
		stages.Put(p, "kept")
		_, ok = stages.Value[string](p)
		found = append(found, ok)
		return nil
	})
	for range 2 {
		_, err := w.pass(c)
		require.NoError(t, err)
	}
	assert.Equal(t, []bool{false, true, false, true}, found)
}

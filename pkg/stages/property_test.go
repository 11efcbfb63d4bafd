package stages_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

// model says which conditions must result from the outcomes of a pipeline's stages.
func model(outcomes []string) map[string]string {
	conditions := map[string]string{"Ready": "True"}
	for i, outcome := range outcomes {
		switch {
		case conditions["Ready"] == "False":
			conditions[conditionName(i)] = "Unknown"
		case outcome == "success":
			conditions[conditionName(i)] = "True"
		default:
			conditions[conditionName(i)], conditions["Ready"] = "False", "False"
		}
	}
	return conditions
}

// TestConditionsFollowTheModel runs random pipelines with random outcomes again and again over one object, so that each
// pass starts from what an earlier one left behind.
func TestConditionsFollowTheModel(t *testing.T) {
	kinds := map[string]func() error{
		"success":  func() error { return nil },
		"wait":     func() error { return stages.Wait("Wait", "Wait.", time.Minute) },
		"stop":     func() error { return fmt.Errorf("wrapped: %w", stages.Stop("Stop", "Stop.")) },
		"error":    func() error { return errors.New("error") },
		"terminal": func() error { return stages.Terminal(errors.New("error")) },
		"panic":    func() error { panic("panic") },
	}
	names := []string{"success", "success", "success", "wait", "stop", "error", "terminal", "panic"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	all := make([]string, 6)
	for i := range all {
		all[i] = conditionName(i)
	}
	for range 300 {
		var outcomes []string
		var ran int
		var handlers []handler
		for range 1 + random.IntN(6) {
			outcome := names[random.IntN(len(names))]
			outcomes = append(outcomes, outcome)
			handlers = append(handlers, func(context.Context, pass) error { ran++; return kinds[outcome]() })
		}
		before := w.get()
		w.clock.Step(time.Second)
		w.taken()
		result, err := w.pass(w.chain(handlers, stages.Retire(all...)))

		want := model(outcomes)
		obj := w.get()
		found := map[string]string{}
		for _, c := range obj.Status.Conditions {
			found[c.Type] = string(c.Status)
			assert.NotEmpty(t, c.Reason)
			assert.NotEmpty(t, c.Message)
			old, had := stages.GetCondition(before, c.Type)
			assert.Equal(t, !had || old.Status != c.Status, c.LastTransitionTime.Time.Equal(w.clock.Now()), "the transition time of %s moves with its truth", c.Type)
		}
		require.Equal(t, want, found, "outcomes %v", outcomes)
		assert.LessOrEqual(t, w.taken()["status"], 1)

		last := outcomes[ran-1]
		assert.Equal(t, ran == len(outcomes) && last == "success", want["Ready"] == "True")
		assert.Equal(t, last == "wait", result.RequeueAfter > 0)
		assert.Equal(t, last == "error" || last == "terminal" || last == "panic", err != nil)
		assert.Equal(t, last == "terminal", errors.Is(err, reconcile.TerminalError(nil)))
	}
}

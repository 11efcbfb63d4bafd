package stages_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

type quotaError struct{}

func (quotaError) Error() string { return "token=hunter2" }

type QuotaError struct{ error }

var (
	errSecret    = errors.New("password is hunter2")
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errSecret)
	errStale     = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "x", errSecret)
)

func TestOutcomes(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("while configuring: %w", fmt.Errorf("deeper: %w", err)) }
	const second, third = "Condition2", "Condition3"
	cases := map[string]struct {
		given           error
		active          string // truth and reason of the active condition and, but for success, of Ready
		later           string
		after           time.Duration
		fails, terminal bool
	}{
		"success":                       {given: nil, active: "True/Succeeded", later: "True/Succeeded"},
		"a wait":                        {given: stages.Wait("NotYet", "Not yet.", 7*time.Second), active: "False/NotYet", after: 7 * time.Second},
		"a wait without a delay":        {given: stages.Wait("NotYet", "Not yet.", 0), active: "False/NotYet", after: 30 * time.Second},
		"a wait for a negative time":    {given: stages.Wait("NotYet", "Not yet.", -1), active: "False/InvalidWait", fails: true},
		"a wrapped wait":                {given: wrap(stages.Wait("NotYet", "Not yet.", time.Second)), active: "False/NotYet", after: time.Second},
		"a wait without words":          {given: stages.Wait("", "", 0), active: "False/Waiting", after: 30 * time.Second},
		"a stop":                        {given: stages.Stop("Refused", "Refused."), active: "False/Refused"},
		"a wrapped stop":                {given: wrap(stages.Stop("Refused", "Refused.")), active: "False/Refused"},
		"a failure with words":          {given: stages.Fail("Down", "It is down.", errSecret), active: "False/Down", fails: true},
		"a wrapped failure with words":  {given: wrap(stages.Fail("Down", "It is down.", errSecret)), active: "False/Down", fails: true},
		"a terminal failure with words": {given: stages.Fail("Down", "It is down.", stages.Terminal(errSecret)), active: "False/Down", fails: true, terminal: true},
		"words in a terminal error":     {given: stages.Terminal(stages.Fail("Down", "It is down.", nil)), active: "False/Down", fails: true, terminal: true},
		"an ordinary error":             {given: errSecret, active: "False/Error", fails: true},
		"a wrapped error":               {given: wrap(errForbidden), active: "False/Forbidden", fails: true},
		"an error of an exported type":  {given: wrap(QuotaError{errSecret}), active: "False/QuotaError", fails: true},
		"a server without an answer":    {given: wrap(&url.Error{Op: "Get", URL: "https://hunter2", Err: errSecret}), active: "False/Unreachable", fails: true},
		"a server that is too slow":     {given: wrap(&url.Error{Op: "Get", URL: "https://hunter2", Err: context.DeadlineExceeded}), active: "False/Timeout", fails: true},
		"an error of a private type":    {given: quotaError{}, active: "False/Error", fails: true},
		"joined errors":                 {given: errors.Join(errSecret, quotaError{}), active: "False/Error", fails: true},
		"a terminal error":              {given: stages.Terminal(errForbidden), active: "False/Forbidden", fails: true, terminal: true},
		"a wrapped terminal error":      {given: wrap(stages.Terminal(errSecret)), active: "False/Error", fails: true, terminal: true},
		"a terminal conflict":           {given: stages.Terminal(errStale), active: "False/Conflict", fails: true, terminal: true},
		"a conflict put into words":     {given: stages.Fail("Down", "It is down.", errStale), active: "False/Down", fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			result, err := w.pass(w.chain([]handler{succeed, give(c.given), succeed}))
			ready := c.active
			if c.later == "" {
				c.later = "Unknown/DependencyNotReady"
			}
			assert.Equal(t, map[string]string{"Condition1": "True/Succeeded", second: c.active, third: c.later, "Ready": ready}, w.conditions())
			assert.Equal(t, reconcile.Result{RequeueAfter: c.after}, result)
			assert.Equal(t, c.fails, err != nil)
			assert.Equal(t, c.terminal, errors.Is(err, reconcile.TerminalError(nil)))
			assert.Empty(t, w.errors, "controller-runtime logs the returned error, nothing else is an error")
			for _, condition := range w.get().Status.Conditions {
				assert.NotEmpty(t, condition.Message)
				assert.NotContains(t, condition.Message, "hunter2")
			}
		})
	}
}

func TestAVerdictIsAnAnswerOfTheDomain(t *testing.T) {
	for name, c := range map[string]struct {
		given error
		want  bool
	}{
		"nothing":              {nil, false},
		"a wait":               {stages.Wait("NotYet", "Not yet.", 0), true},
		"a stop":               {stages.Stop("Refused", "Refused."), true},
		"a failure with words": {stages.Fail("Down", "It is down.", errSecret), false},
		"an ordinary error":    {errSecret, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, stages.IsVerdict(c.given))
			assert.Equal(t, c.want, stages.IsVerdict(fmt.Errorf("wrapped: %w", c.given)))
		})
	}
}

func TestFailureTextNamesStageAndClassOnly(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.chain([]handler{give(errForbidden)}))
	require.ErrorContains(t, err, "hunter2", "the details are for the log")
	c, _ := stages.GetCondition(w.get(), "Ready")
	assert.Equal(t, `Stage "Condition1" failed (Forbidden). The controller's log has the details. It is tried again with growing delays.`, c.Message)

	_, err = w.pass(w.chain([]handler{give(stages.Terminal(errForbidden))}))
	require.Error(t, err)
	c, _ = stages.GetCondition(w.get(), "Ready")
	assert.Equal(t, `Stage "Condition1" failed (Forbidden). The controller's log has the details. It is not tried again until the object or one of its children changes.`, c.Message)
}

func TestTheReasonOfFailuresWithoutWordsCanBeChosen(t *testing.T) {
	for name, c := range map[string]struct {
		given        error
		want, naming string
	}{
		"an error":                   {errSecret, "False/ReconcileError", `Stage "Condition1" failed (Error).`},
		"an error of the API server": {fmt.Errorf("write: %w", errForbidden), "False/ReconcileError", `Stage "Condition1" failed (Forbidden).`},
		"a terminal error":           {stages.Terminal(errForbidden), "False/ReconcileError", `Stage "Condition1" failed (Forbidden).`},
		"a failure with words":       {stages.Fail("Down", "It is down.", errSecret), "False/Down", "It is down."},
		"a wait":                     {stages.Wait("NotYet", "Not yet.", 0), "False/NotYet", "Not yet."},
		"a stop":                     {stages.Stop("Refused", "Refused."), "False/Refused", "Refused."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, _ = w.pass(w.chain([]handler{give(c.given)}, stages.FailureReason("ReconcileError")))
			assert.Equal(t, map[string]string{"Condition1": c.want, "Ready": c.want}, w.conditions())
			ready, _ := stages.GetCondition(w.get(), "Ready")
			assert.Contains(t, ready.Message, c.naming)
		})
	}
}

func TestAPassMayAskForAnotherAfterASuccessOrAStop(t *testing.T) {
	const asked = time.Minute
	for name, c := range map[string]struct {
		given error
		want  time.Duration
	}{
		"a success":                     {nil, asked},
		"a stop":                        {stages.Stop("Refused", "Refused."), asked},
		"a wait has a delay of its own": {stages.Wait("NotYet", "Not yet.", 7*time.Second), 7 * time.Second},
		"a failure backs off":           {errSecret, 0},
		"a terminal failure":            {stages.Terminal(errSecret), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			result, _ := w.pass(w.chain([]handler{func(_ context.Context, p pass) error {
				p.RequeueAfter(time.Hour)
				p.RequeueAfter(asked)
				return c.given
			}}, stages.Every(time.Hour)))
			assert.Equal(t, reconcile.Result{RequeueAfter: c.want}, result)
		})
	}
}

func TestReachedGivesTheTrueConditionItsWords(t *testing.T) {
	w := newWorld(t)
	say := func(reason string) handler {
		return func(_ context.Context, p pass) error { p.Reached(reason, reason+" it is."); return nil }
	}
	_, err := w.pass(w.chain([]handler{say("Bound"), succeed, say("Serving")}))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"Condition1": "True/Bound", "Condition2": "True/Succeeded", "Condition3": "True/Serving", "Ready": "True/Serving",
	}, w.conditions())
	c, _ := stages.GetCondition(w.get(), "Ready")
	assert.Equal(t, "Serving it is.", c.Message)
}

func TestAPanicIsAFailureOfThatObject(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(w.chain([]handler{func(context.Context, pass) error { panic("hunter2") }}))
	require.Error(t, err)
	assert.NotErrorIs(t, err, reconcile.TerminalError(nil), "it is retried")
	assert.Equal(t, "False/Panic", w.conditions()["Ready"])
	c, _ := stages.GetCondition(w.get(), "Ready")
	assert.Contains(t, c.Message, `Stage "Condition1"`)
	assert.NotContains(t, c.Message, "hunter2")
	require.Len(t, w.errors, 1)
	assert.Contains(t, w.errors[0], "outcome_test.go", "the log has the stack")
}

func TestEveryResyncsAfterSuccessOnly(t *testing.T) {
	after := func(delays ...time.Duration) handler {
		return func(_ context.Context, p pass) error {
			for _, d := range delays {
				p.RequeueAfter(d)
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		handler handler
		want    time.Duration
	}{
		"after success":                   {succeed, time.Hour},
		"an explicit result takes over":   {after(time.Minute), time.Minute},
		"the shortest result counts":      {after(time.Minute, time.Second, 2*time.Hour), time.Second},
		"a longer result takes over":      {after(2 * time.Hour), 2 * time.Hour},
		"a result in the past is now":     {after(-time.Hour), time.Millisecond},
		"a wait takes precedence":         {give(stages.Wait("NotYet", "Not yet.", time.Second)), time.Second},
		"an error takes precedence":       {give(errSecret), 0},
		"a stop waits for new input only": {give(stages.Stop("Refused", "Refused.")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			result, _ := w.pass(w.plain(c.handler, stages.Every(time.Hour)))
			assert.Equal(t, c.want, result.RequeueAfter)
		})
	}
}

func TestErrorsBackOff(t *testing.T) {
	limiter := stages.RateLimiter()
	item := reconcile.Request{NamespacedName: key}
	seen := map[time.Duration]bool{}
	for i := range 20 {
		full := min(time.Second<<i, time.Minute)
		got := limiter.When(item)
		assert.LessOrEqual(t, got, full)
		assert.Greater(t, got, full*4/5-1)
		seen[got%time.Second] = true
	}
	assert.Greater(t, len(seen), 10, "the delays have jitter")
	limiter.Forget(item)
	assert.LessOrEqual(t, limiter.When(item), time.Second, "a success starts afresh")
}

func TestADeletedObjectIsLeftAlone(t *testing.T) {
	dying := newSettings()
	dying.Finalizers = []string{"examples.beyond10x.dev/hold"}
	w := newWorld(t, dying)
	require.NoError(t, w.client.Delete(t.Context(), dying))
	calls := 0
	count := func(context.Context, pass) error { calls++; return nil }
	result, err := w.pass(w.plain(count, stages.Every(time.Hour)))
	require.NoError(t, err)
	assert.Zero(t, result)
	assert.Zero(t, calls)
	assert.Empty(t, w.taken())

	_, err = w.pass(w.plain(count, stages.HandleDeletion()))
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
}

func TestSummarizeRunsOncePerPassBeforeTheWrite(t *testing.T) {
	var outcomes []stages.Outcome
	given := error(nil)
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...)
	chain(b, []handler{succeed, func(context.Context, pass) error { return given }})
	b.Summarize(func(p pass, o stages.Outcome) {
		outcomes = append(outcomes, o)
		ready, _ := stages.GetCondition(p.Object(), "Ready")
		assert.Equal(t, o.Reason, ready.Reason, "the conditions are staged already")
		p.Condition("Synced", "True", "ReconcileSuccess", "The last pass went well.")
		p.Object().Status.Notes = append(p.Object().Status.Notes, string(o.Kind))
	})
	c := w.build(b)
	for _, given = range []error{nil, stages.Wait("NotYet", "Not yet.", time.Minute), stages.Stop("Refused", "No."), errForbidden, stages.Terminal(errForbidden)} {
		_, _ = w.pass(c)
		assert.Equal(t, map[string]int{"status": 1}, w.taken())
		assert.Equal(t, "True/ReconcileSuccess", w.conditions()["Synced"])
	}
	assert.Equal(t, []string{"Succeeded", "Waiting", "Stopped", "Failed", "FailedTerminally"}, w.get().Status.Notes)
	assert.Equal(t, stages.Outcome{Kind: stages.Succeeded, Reason: "Succeeded", Message: `Stage "Condition2" succeeded.`}, outcomes[0])
	assert.Equal(t, "Condition2", outcomes[1].Stage)
	assert.Equal(t, time.Minute, outcomes[1].After)
	assert.ErrorIs(t, outcomes[3].Err, errForbidden)
}

func TestAPanicInSummarizeFailsThePass(t *testing.T) {
	w := newWorld(t)
	b := stages.For[*Settings]("settings", w.options()...).Reconcile(succeed).
		Summarize(func(pass, stages.Outcome) { panic("oops") })
	_, err := w.pass(w.build(b))
	require.Error(t, err)
	assert.Equal(t, "False/Panic", w.conditions()["Ready"])

	b = stages.For[*Settings]("settings", w.options()...).Reconcile(give(errForbidden)).
		Summarize(func(pass, stages.Outcome) { panic("oops") })
	_, err = w.pass(w.build(b))
	require.ErrorIs(t, err, errForbidden, "it does not hide an earlier failure")
	assert.Equal(t, "False/Forbidden", w.conditions()["Ready"])
}

func TestKindsWithoutConditionsRunTheSameWay(t *testing.T) {
	child := &corev1.ConfigMap{}
	child.Name, child.Namespace = key.Name, key.Namespace
	w := newWorld(t, child)
	calls := 0
	c, err := stages.For[*corev1.ConfigMap]("maps", stages.Every(time.Hour)).Reconcile(func(context.Context, *stages.Pass[*corev1.ConfigMap]) error {
		calls++
		return nil
	}).Build(w.client, w.client)
	require.NoError(t, err)
	result, err := c.Reconcile(w.context(), child)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, result.RequeueAfter)
	assert.Equal(t, 1, calls)
	assert.Empty(t, w.taken(), "built-in kinds are not opted into reports")
}

func TestOneLogLineForAPassThatChangedSomething(t *testing.T) {
	w := newWorld(t)
	c := w.plain(succeed)
	_, err := w.pass(c)
	require.NoError(t, err)
	require.Len(t, w.lines, 1)
	assert.Contains(t, w.lines[0], `"outcome"="Succeeded"`)
	_, err = w.pass(c)
	require.NoError(t, err)
	assert.Len(t, w.lines, 1, "nothing for a pass that changed nothing")
}

func TestOneLogLineForAPassThatWroteSomethingElse(t *testing.T) {
	for name, h := range map[string]handler{
		"a child": func(ctx context.Context, p pass) error { return p.Ensure(ctx, data("message", "hello")) },
		"the object": func(ctx context.Context, p pass) error {
			p.Object().Labels = map[string]string{"saved": "yes"}
			return p.Save(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.plain(h, stages.ReportStatus(false))
			for range 2 {
				_, err := w.pass(c)
				require.NoError(t, err)
				require.Len(t, w.lines, 1)
				assert.Contains(t, w.lines[0], `"statusWritten"=false "otherWrites"=1`)
			}
		})
	}
}

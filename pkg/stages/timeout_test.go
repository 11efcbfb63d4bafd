package stages_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestATimeoutReportsAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.chain([]handler{func(ctx context.Context, _ pass) error {
			<-ctx.Done()
			return errors.New("the client gave up")
		}, succeed}, stages.Timeout(time.Millisecond))
		_, err := w.pass(c)
		require.ErrorContains(t, err, "not finished after 1ms")
		assert.NotErrorIs(t, err, reconcile.TerminalError(nil))
		assert.Equal(t, "False/Timeout", w.conditions()["Condition1"])
	})
}

func TestAHandlerHasTwoMinutesByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		_, err := w.pass(w.plain(func(ctx context.Context, _ pass) error { <-ctx.Done(); return ctx.Err() }))
		require.Error(t, err)
		assert.Equal(t, 2*time.Minute, time.Since(began))
	})
}

func TestAnAnswerInWordsIsNoTimeout(t *testing.T) {
	for name, given := range map[string]error{
		"a wait":               stages.Wait("NotYet", "Not yet.", 0),
		"a failure with words": stages.Fail("Down", "It is down.", errSecret),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var said error
				b := stages.For[*Settings]("settings", w.options(stages.Timeout(time.Millisecond))...).
					Reconcile(func(ctx context.Context, _ pass) error { <-ctx.Done(); return given }).
					Summarize(func(_ pass, o stages.Outcome) { said = o.Err })
				_, _ = w.pass(w.build(b))
				assert.Equal(t, given, said)
			})
		})
	}
}

func TestATimeoutBetweenStagesIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.chain([]handler{func(ctx context.Context, _ pass) error { <-ctx.Done(); return nil }, succeed}, stages.Timeout(time.Millisecond))
		_, err := w.pass(c)
		require.Error(t, err)
		assert.Equal(t, map[string]string{"Condition1": "True/Succeeded", "Condition2": "False/Timeout", "Ready": "False/Timeout"}, w.conditions())
	})
}

func TestShutdownStopsWithoutAFailureWrite(t *testing.T) {
	w := newWorld(t)
	ctx, shutDown := context.WithCancel(w.context())
	later := 0
	c := w.chain([]handler{func(ctx context.Context, _ pass) error { shutDown(); return nil }, func(context.Context, pass) error { later++; return nil }})
	_, err := c.Reconcile(ctx, w.get())
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, later)
	assert.Empty(t, w.taken())
}

func TestShutdownKeepsTheReportOfAFinishedPass(t *testing.T) {
	w := newWorld(t)
	ctx, shutDown := context.WithCancel(w.context())
	w.before = func(ctx context.Context, what string, _ client.Object) error { return ctx.Err() }
	c := w.plain(func(context.Context, pass) error { shutDown(); return nil })
	_, err := c.Reconcile(ctx, w.get())
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"status": 1}, w.taken())
}

func TestADeadlineOfTheCallerIsATimeout(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithDeadline(w.context(), time.Now())
	defer cancel()
	_, err := w.plain(succeed).Reconcile(ctx, w.get())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, map[string]string{"Ready": "False/Timeout"}, w.conditions())
}

func TestAStatusWriteThatHangsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.before = func(ctx context.Context, _ string, _ client.Object) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		_, err := w.pass(w.plain(succeed))
		require.ErrorContains(t, err, "write the status")
		assert.Equal(t, 10*time.Second, time.Since(began))
	})
}

package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/beyond10x/loom-operator/internal/lifecycle"
)

func TestARecordOfAnotherNameIsNoRecord(t *testing.T) {
	other := &Record{Name: "other", ObservedGeneration: 9, State: Running}
	for outcome, c := range conformance {
		if len(c.in) > 0 {
			continue
		}
		t.Run(outcome, func(t *testing.T) {
			decision, err := Decide(other, c.send[0])
			fromNothing, errFromNothing := Decide(nil, c.send[0])
			assert.Equal(t, fromNothing, decision)
			assert.Equal(t, errFromNothing, err)
		})
	}
}

type foreign struct{ ApplyLoomAgent }

func TestWhatIsNotACommandChangesNothing(t *testing.T) {
	cases := map[string]Command{
		"nil":                              nil,
		"a nil pointer":                    (*ApplyLoomAgent)(nil),
		"a pointer to a command":           &DeleteLoomAgent{Name: agent},
		"a type that embeds a command":     foreign{ApplyLoomAgent{Name: agent, Generation: 3}},
		"a type that embeds the interface": struct{ Command }{},
	}
	for name, command := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := Decide(nil, command)
			assert.ErrorIs(t, err, ErrUnknownCommand)
			assert.Equal(t, Decision{}, decision)

			nameless := &Record{State: Running, Check: &Check{}}
			decision, err = Decide(nameless, command)
			assert.ErrorIs(t, err, ErrUnknownCommand)
			assert.Equal(t, Decision{Record: nameless}, decision)
			assert.NotSame(t, nameless, decision.Record)
		})
	}
}

func TestAStateThisVersionDoesNotKnow(t *testing.T) {
	for _, state := range []State{"", "Paused", "running"} {
		record := &Record{Name: agent, ObservedGeneration: 2, State: state}
		cases := map[string]Command{
			"ApplyLoomAgent/stale":            apply(1),
			"ApplyLoomAgent/unchanged":        apply(2),
			"ApplyLoomAgent/respecified":      apply(3),
			"RecordCheck/stale":               check(1, 0),
			"RecordCheck/out-of-order":        check(2, 0),
			"ObserveDeployment/no-deployment": observe(Available),
			"ObserveRun/no-run":               run(RunSucceeded, RunEnd{}),
			"ObserveScheduledRun/not-running": scheduled(RunFailed, RunEnd{}),
			"DeleteLoomAgent/deleted":         DeleteLoomAgent{Name: agent},
		}
		for outcome, command := range cases {
			_, got := decide(t, record, command)
			assert.Equal(t, outcome, got, "in state %q", state)
		}
	}
}

func TestAnInputThisVersionDoesNotKnowIsAConflict(t *testing.T) {
	for _, state := range []State{Running, Degraded} {
		_, got := decide(t, drive(t, state), observe("Maybe"))
		assert.Equal(t, "ObserveDeployment/no-deployment", got)
		_, got = decide(t, drive(t, state), run("Unknown", RunEnd{}))
		assert.Equal(t, "ObserveRun/no-run", got)
		_, got = decide(t, drive(t, state), scheduled("", RunEnd{}))
		assert.Equal(t, "ObserveScheduledRun/not-running", got)
	}
}

// full has every field filled, more than the lifecycle ever fills at once.
func full() *Record {
	return &Record{
		Name: agent, ObservedGeneration: 2, State: Running,
		Check: &Check{ExitCode: 0, Message: "accepted"}, Deployment: &Deployment{Availability: Available},
		Variant: VariantCommand, Run: new(end(0, "Completed")), LastRun: &LastRun{Phase: RunFailed, RunEnd: end(7, "Error")},
	}
}

func TestRespecifyClearsEverythingOfTheOldGeneration(t *testing.T) {
	next, _ := decide(t, full(), apply(3))
	assert.Equal(t, &Record{Name: agent, ObservedGeneration: 3, State: Pending}, next)
}

func TestTheAnswerSharesNoMemoryWithTheQuestion(t *testing.T) {
	given := full()
	decision, err := Decide(given, apply(2))
	require.NoError(t, err)
	scribble(decision.Record)
	assert.Equal(t, full(), given)

	for name, of := range map[string]func(RunPhase, RunEnd) Command{"run": run, "scheduled run": scheduled} {
		t.Run(name, func(t *testing.T) {
			observed := end(7, "Error")
			decision, err := Decide(full(), of(RunFailed, observed))
			require.NoError(t, err)
			wanted := slices.Clone(decision.Events)
			wanted[0].Run = copiedEnd(wanted[0].Run)
			wanted[0].LastRun = deepCopy(&Record{LastRun: wanted[0].LastRun}).LastRun
			scribble(decision.Record)
			assert.Equal(t, end(7, "Error"), observed)
			assert.Equal(t, wanted, decision.Events)
		})
	}
	for name, command := range map[string]Command{"check": check(2, 0), "deployment": observe(Available)} {
		t.Run(name, func(t *testing.T) {
			record := full()
			if name == "check" {
				record.State = Pending
			}
			decision, err := Decide(record, command)
			require.NoError(t, err)
			assert.NotSame(t, decision.Record.Check, decision.Events[0].Check)
			assert.NotSame(t, decision.Record.Deployment, decision.Events[0].Deployment)
		})
	}
}

func copiedEnd(e *RunEnd) *RunEnd { return deepCopy(&Record{Run: e}).Run }

// scribble writes to all memory the record points to.
func scribble(r *Record) {
	*r.Check, *r.Deployment = Check{ExitCode: 99}, Deployment{}
	for _, e := range []*RunEnd{r.Run, &r.LastRun.RunEnd} {
		*e.ExitCode, *e.FinishedAt, *e.Reason = 99, e.FinishedAt.AddDate(1, 0, 0), "scribbled"
	}
	r.LastRun.Phase = "scribbled"
}

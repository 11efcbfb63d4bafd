package lifecycle

// table is what Decide follows. It is never written to.
var table = Table()

// Table returns the machine: per command, the rules in the order they are
// tried. Each call returns a fresh copy.
func Table() []Rule {
	return []Rule{
		{
			Command: applyLoomAgent, Outcome: OutcomeCreated, Absent: true,
			To: Pending, Sets: []Setting{setGeneration}, Event: LoomAgentApplied,
			Reach: "apply a name no record carries",
		},
		{
			Command: applyLoomAgent, Outcome: OutcomeStale,
			When: "`generation` is lower than `observedGeneration`", guard: generationIsLower,
			Error: staleGeneration,
			Reach: "put a record in each state, check the state, then apply an earlier generation",
		},
		{
			Command: applyLoomAgent, Outcome: OutcomeUnchanged,
			When: "`generation` equals `observedGeneration`", guard: generationIsEqual,
			Reach: "put a record in each state, check the state, then apply the same generation again",
		},
		{
			Command: applyLoomAgent, Outcome: OutcomeRespecified,
			Move: "respecify", To: Pending,
			Sets:  []Setting{setGeneration, clearCheck, clearDeployment, clearVariant, clearRun, clearLastRun},
			Event: LoomAgentApplied,
			Reach: "apply a later generation in each state",
		},

		unknown(recordCheck),
		{
			Command: recordCheck, Outcome: OutcomeStale,
			When: "`generation` differs from `observedGeneration`", guard: generationDiffers,
			Error: staleGeneration,
			Reach: "put a record in each state, check the state, then record the check of an earlier and of a later generation",
		},
		{
			Command: recordCheck, Outcome: OutcomeRunning, From: []State{Pending},
			When: "`exitCode` is 0", guard: exitCodeIsZero,
			Move: "run", To: Running, Sets: []Setting{setCheck, setVariant}, Event: LoomAgentRunning,
			Reach: "record exit code 0 for a pending record",
		},
		{
			Command: recordCheck, Outcome: OutcomeRefused, From: []State{Pending},
			Move: "refuse", To: Refused, Sets: []Setting{setCheck, setVariant}, Event: LoomAgentRefused,
			Reach: "record any other exit code for a pending record",
		},
		{
			Command: recordCheck, Outcome: OutcomeOutOfOrder,
			Error: stateConflict,
			Reach: "drive a record out of Pending, then record a check of its own generation",
		},

		unknown(observeDeployment),
		{
			Command: observeDeployment, Outcome: OutcomeDegraded, From: []State{Running},
			When: "`availability` is Unavailable", guard: availabilityIs(Unavailable),
			Move: "degrade", To: Degraded, Sets: []Setting{setDeployment}, Event: LoomAgentDegraded,
			Reach: "observe Unavailable while Running",
		},
		{
			Command: observeDeployment, Outcome: OutcomeStillRunning, From: []State{Running},
			When: "`availability` is Available", guard: availabilityIs(Available),
			Move: "observe-running", To: Running, Sets: []Setting{setDeployment}, Event: LoomAgentObserved,
			Reach: "observe Available while Running",
		},
		{
			Command: observeDeployment, Outcome: OutcomeRecovered, From: []State{Degraded},
			When: "`availability` is Available", guard: availabilityIs(Available),
			Move: "recover", To: Running, Sets: []Setting{setDeployment}, Event: LoomAgentRecovered,
			Reach: "observe Available while Degraded",
		},
		{
			Command: observeDeployment, Outcome: OutcomeStillDegraded, From: []State{Degraded},
			When: "`availability` is Unavailable", guard: availabilityIs(Unavailable),
			Move: "observe-degraded", To: Degraded, Sets: []Setting{setDeployment}, Event: LoomAgentObserved,
			Reach: "observe Unavailable while Degraded",
		},
		{
			Command: observeDeployment, Outcome: OutcomeNoDeployment,
			Error: stateConflict,
			Reach: "observe either availability in any state but Running and Degraded",
		},

		unknown(observeRun),
		{
			Command: observeRun, Outcome: OutcomeStillActive, From: []State{Running},
			When: "`phase` is Active", guard: phaseIs(RunActive),
			Move: "observe-running", To: Running, Event: LoomAgentRunObserved,
			Reach: "observe an active run while Running",
		},
		{
			Command: observeRun, Outcome: OutcomeCompleted, From: []State{Running},
			When: "`phase` is Succeeded", guard: phaseIs(RunSucceeded),
			Move: "complete", To: Completed, Sets: []Setting{setRun}, Event: LoomAgentCompleted,
			Reach: "observe a succeeded run while Running",
		},
		{
			Command: observeRun, Outcome: OutcomeFailed, From: []State{Running},
			When: "`phase` is Failed", guard: phaseIs(RunFailed),
			Move: "fail", To: Failed, Sets: []Setting{setRun}, Event: LoomAgentFailed,
			Reach: "observe a failed run while Running",
		},
		{
			Command: observeRun, Outcome: OutcomeFinished, From: []State{Completed, Failed},
			Reach: "observe any phase while Completed or Failed",
		},
		{
			Command: observeRun, Outcome: OutcomeNoRun,
			Error: stateConflict,
			Reach: "observe any phase while Pending, Degraded or Refused",
		},

		unknown(observeScheduledRun),
		{
			Command: observeScheduledRun, Outcome: OutcomeLastRunSucceeded, From: []State{Running},
			When: "`phase` is Succeeded", guard: phaseIs(RunSucceeded),
			Move: "observe-running", To: Running, Sets: []Setting{setLastRun}, Event: LoomAgentLastRunObserved,
			Reach: "observe a succeeded run of the schedule while Running",
		},
		{
			Command: observeScheduledRun, Outcome: OutcomeLastRunFailed, From: []State{Running},
			When: "`phase` is Failed", guard: phaseIs(RunFailed),
			Move: "observe-running", To: Running, Sets: []Setting{setLastRun}, Event: LoomAgentLastRunObserved,
			Reach: "observe a failed run of the schedule while Running",
		},
		{
			Command: observeScheduledRun, Outcome: OutcomeRunActive, From: []State{Running},
			When: "`phase` is Active", guard: phaseIs(RunActive),
			Reach: "observe an active run of the schedule while Running",
		},
		{
			Command: observeScheduledRun, Outcome: OutcomeNotRunning,
			Error: stateConflict,
			Reach: "observe any phase in any state but Running",
		},

		unknown(deleteLoomAgent),
		{
			Command: deleteLoomAgent, Outcome: OutcomeDeleted,
			Removes: true, Event: LoomAgentDeleted,
			Reach: "delete a record in each state",
		},
	}
}

// unknown is the answer of every command but ApplyLoomAgent to a name no
// record carries, before any other.
func unknown(command string) Rule {
	return Rule{
		Command: command, Outcome: OutcomeUnknown, Absent: true,
		Error: notFound,
		Reach: "send a name no record carries",
	}
}

func generationIsLower(r *Record, in input) bool { return in.generation < r.ObservedGeneration }
func generationIsEqual(r *Record, in input) bool { return in.generation == r.ObservedGeneration }
func generationDiffers(r *Record, in input) bool { return in.generation != r.ObservedGeneration }
func exitCodeIsZero(_ *Record, in input) bool    { return in.check.ExitCode == 0 }

func availabilityIs(want Availability) func(*Record, input) bool {
	return func(_ *Record, in input) bool { return in.availability == want }
}

func phaseIs(want RunPhase) func(*Record, input) bool {
	return func(_ *Record, in input) bool { return in.phase == want }
}

var (
	setGeneration = Setting{"observedGeneration", "`generation`", func(r *Record, in input) { r.ObservedGeneration = in.generation }}
	setCheck      = Setting{"check", "`exitCode`, `message`", func(r *Record, in input) { r.Check = &in.check }}
	setVariant    = Setting{"variant", "`variant`", func(r *Record, in input) { r.Variant = in.variant }}
	setDeployment = Setting{"deployment", "`availability`", func(r *Record, in input) { r.Deployment = &Deployment{in.availability} }}
	setRun        = Setting{"run", "`exitCode`, `finishedAt`, `reason`", func(r *Record, in input) { r.Run = new(in.end.clone()) }}
	setLastRun    = Setting{"lastRun", "`phase`, `exitCode`, `finishedAt`, `reason`", func(r *Record, in input) { r.LastRun = &LastRun{in.phase, in.end.clone()} }}

	clearCheck      = Setting{"check", Cleared, func(r *Record, _ input) { r.Check = nil }}
	clearDeployment = Setting{"deployment", Cleared, func(r *Record, _ input) { r.Deployment = nil }}
	clearVariant    = Setting{"variant", Cleared, func(r *Record, _ input) { r.Variant = "" }}
	clearRun        = Setting{"run", Cleared, func(r *Record, _ input) { r.Run = nil }}
	clearLastRun    = Setting{"lastRun", Cleared, func(r *Record, _ input) { r.LastRun = nil }}
)

// Cleared is the value of a setting that empties its field.
const Cleared = "cleared"

var (
	notFound = Failure{"LoomAgentNotFound", "name", func(_ *Record, in input) error {
		return &NotFoundError{Name: in.name}
	}}
	staleGeneration = Failure{"StaleGeneration", "name, generation, observedGeneration", func(r *Record, in input) error {
		return &StaleGenerationError{Name: in.name, Generation: in.generation, ObservedGeneration: r.ObservedGeneration}
	}}
	stateConflict = Failure{"LoomAgentStateConflict", "name", func(_ *Record, in input) error {
		return &StateConflictError{Name: in.name}
	}}
)

package journal_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// Whatever the lifecycle can know comes back from the status unchanged, also
// through the API server's JSON, and a fact that nobody could learn stays
// absent.
func TestRecordSurvivesTheStatus(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		want := randomRecord(random)
		agent := &v1alpha1.LoomAgent{
			ObjectMeta: metav1.ObjectMeta{Name: want.Name, Generation: want.ObservedGeneration + random.Int64N(2)},
			Status:     randomStatus(random),
		}
		former := agent.Status.DeepCopy()

		journal.Write(&agent.Status, want)

		require.Equal(t, want, utc(journal.Record(agent)), "seed %d", seed)
		require.Equal(t, want, utc(journal.Record(stored(t, agent))), "seed %d, stored", seed)
		assert.Equal(t, former.Workload, agent.Status.Workload)
		assert.Equal(t, former.NextRun, agent.Status.NextRun)
		assert.Equal(t, former.Conditions, agent.Status.Conditions)
	}
}

func TestWhatIsNotKnownIsNotWritten(t *testing.T) {
	code, reason := int32(0), "Completed"
	finished := time.Date(2026, 3, 1, 12, 0, 0, 999, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		record lifecycle.Record
		want   string
	}{
		"nothing":           {lifecycle.Record{}, `{}`},
		"an end, no more":   {lifecycle.Record{Run: &lifecycle.RunEnd{}}, `{"run":{}}`},
		"the exit code 0":   {lifecycle.Record{Run: &lifecycle.RunEnd{ExitCode: &code}}, `{"run":{"exitCode":0}}`},
		"the reason":        {lifecycle.Record{Run: &lifecycle.RunEnd{Reason: &reason}}, `{"run":{"reason":"Completed"}}`},
		"the second of end": {lifecycle.Record{Run: &lifecycle.RunEnd{FinishedAt: &finished}}, `{"run":{"finishedAt":"2026-03-01T11:00:00Z"}}`},
		"a run of a schedule, no more": {
			lifecycle.Record{LastRun: &lifecycle.LastRun{Phase: lifecycle.RunFailed}}, `{"lastRun":{"phase":"Failed"}}`,
		},
		"a check without words": {lifecycle.Record{Check: &lifecycle.Check{}}, `{"check":{"exitCode":0,"message":""}}`},
	} {
		t.Run(name, func(t *testing.T) {
			status := v1alpha1.LoomAgentStatus{}
			journal.Write(&status, c.record)
			text, err := json.Marshal(status)
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(text))
		})
	}
}

func TestStatusWithoutRecord(t *testing.T) {
	check := &v1alpha1.CheckResult{ExitCode: 1, Message: "spec.env: Wrong."}
	for name, c := range map[string]struct {
		generation int64
		status     v1alpha1.LoomAgentStatus
		record     bool
	}{
		"a new agent, with the schema's default":      {1, v1alpha1.LoomAgentStatus{State: v1alpha1.StatePending}, false},
		"restored from a backup with its status":      {1, v1alpha1.LoomAgentStatus{ObservedGeneration: 7, State: v1alpha1.StateRefused, Check: check}, false},
		"restored, one generation ahead":              {1, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StateFailed, Check: check}, false},
		"of the agent's own generation":               {2, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StateFailed, Check: check}, true},
		"of an earlier generation, after an edit":     {3, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StateFailed, Check: check}, true},
		"a state that this version does not know yet": {2, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: "Hibernating", Check: check}, true},
		"applied and not judged yet":                  {2, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StatePending}, true},
		"a verdict that somebody took away":           {2, v1alpha1.LoomAgentStatus{ObservedGeneration: 2, State: v1alpha1.StateRunning}, false},
		"a verdict and a state that are gone":         {2, v1alpha1.LoomAgentStatus{ObservedGeneration: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: c.generation}, Status: c.status}
			record := journal.Record(agent)
			if !c.record {
				assert.Nil(t, record)
				return
			}
			require.NotNil(t, record)
			assert.Equal(t, "a", record.Name)
			assert.Equal(t, lifecycle.State(c.status.State), record.State)
			assert.Equal(t, c.status.ObservedGeneration, record.ObservedGeneration)
		})
	}
}

func randomRecord(random *rand.Rand) lifecycle.Record {
	record := lifecycle.Record{
		Name:               []string{"a", "some-agent"}[random.IntN(2)],
		ObservedGeneration: 1 + random.Int64N(1<<40),
		State:              lifecycle.States()[random.IntN(6)],
		Variant:            []lifecycle.Variant{"", lifecycle.VariantAgentServe, lifecycle.VariantCommand}[random.IntN(3)],
	}
	if record.State != lifecycle.Pending || random.IntN(2) == 0 { // Only a pending one has no verdict.
		record.Check = &lifecycle.Check{ExitCode: random.Int32(), Message: []string{"", "spec: wrong.\nspec.env: wrong, too."}[random.IntN(2)]}
	}
	if random.IntN(2) == 0 {
		record.Deployment = &lifecycle.Deployment{Availability: []lifecycle.Availability{lifecycle.Available, lifecycle.Unavailable}[random.IntN(2)]}
	}
	if random.IntN(2) == 0 {
		record.Run = new(randomEnd(random))
	}
	if random.IntN(2) == 0 {
		phase := []lifecycle.RunPhase{lifecycle.RunSucceeded, lifecycle.RunFailed}[random.IntN(2)]
		record.LastRun = &lifecycle.LastRun{Phase: phase, RunEnd: randomEnd(random)}
	}
	return record
}

func randomEnd(random *rand.Rand) lifecycle.RunEnd {
	end := lifecycle.RunEnd{}
	if random.IntN(2) == 0 {
		end.ExitCode = new(random.Int32N(256))
	}
	if random.IntN(2) == 0 {
		end.FinishedAt = new(time.Unix(random.Int64N(1<<32), 0).UTC())
	}
	if random.IntN(2) == 0 {
		end.Reason = new([]string{"", "OOMKilled", "DeadlineExceeded"}[random.IntN(3)])
	}
	return end
}

// randomStatus is what an earlier pass may have left, of this record or another.
func randomStatus(random *rand.Rand) v1alpha1.LoomAgentStatus {
	status := v1alpha1.LoomAgentStatus{Conditions: []metav1.Condition{{Type: "Ready"}}}
	journal.Write(&status, randomRecord(random))
	if random.IntN(2) == 0 {
		status.Workload = &v1alpha1.Workload{Kind: "Job", Name: "a-1", UID: "u"}
	}
	if random.IntN(2) == 0 {
		status.NextRun = &metav1.Time{Time: time.Unix(random.Int64N(1<<32), 0)}
	}
	return status
}

// stored is the agent as the API server gives it back.
func stored(t *testing.T, agent *v1alpha1.LoomAgent) *v1alpha1.LoomAgent {
	t.Helper()
	text, err := json.Marshal(agent)
	require.NoError(t, err)
	back := &v1alpha1.LoomAgent{}
	require.NoError(t, json.Unmarshal(text, back))
	return back
}

// utc drops the zone, which a moment has in memory only.
func utc(record *lifecycle.Record) lifecycle.Record {
	for _, end := range []*lifecycle.RunEnd{record.Run, lastEnd(record)} {
		if end != nil && end.FinishedAt != nil {
			end.FinishedAt = new(end.FinishedAt.UTC())
		}
	}
	return *record
}

func lastEnd(record *lifecycle.Record) *lifecycle.RunEnd {
	if record.LastRun == nil {
		return nil
	}
	return &record.LastRun.RunEnd
}

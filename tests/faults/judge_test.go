package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func version(generation, observed int64, state v1alpha1.AgentState) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: generation},
		Status:     v1alpha1.LoomAgentStatus{ObservedGeneration: observed, State: state},
	}
}

func withRun(agent *v1alpha1.LoomAgent, code int32) *v1alpha1.LoomAgent {
	agent.Status.Run = &v1alpha1.RunEnd{ExitCode: &code}
	return agent
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		former, next *v1alpha1.LoomAgent
		want         []string
	}{
		"the first version has no record":         {nil, version(1, 0, "Pending"), nil},
		"a fold from creation":                    {version(1, 0, "Pending"), version(1, 1, "Running"), nil},
		"a fold across a change of generation":    {version(2, 1, "Completed"), version(2, 2, "Refused"), nil},
		"a move":                                  {version(1, 1, "Running"), version(1, 1, "Failed"), nil},
		"nothing happened":                        {version(1, 1, "Failed"), version(2, 1, "Failed"), nil},
		"an end that stays":                       {withRun(version(1, 1, "Failed"), 7), withRun(version(1, 1, "Failed"), 7), nil},
		"a run that begins again":                 {version(1, 1, "Failed"), version(1, 1, "Running"), []string{"no move leads from Failed to Running"}},
		"no fold without a change of generation":  {version(1, 1, "Pending"), version(1, 1, "Completed"), []string{"no move leads from Pending to Completed"}},
		"a respecification that nobody asked for": {version(1, 1, "Running"), version(1, 1, "Pending"), []string{"no move leads from Running to Pending"}},
		"a record that is lost":                   {version(1, 1, "Running"), version(1, 0, ""), []string{"the record of generation 1 is gone"}},
		"an old record":                           {version(2, 2, "Running"), version(2, 1, "Running"), []string{"the status went back from generation 2 to 1"}},
		"a record of the future": {
			version(1, 1, "Running"), version(1, 2, "Running"), []string{"the status is about generation 2, and the agent has only reached 1"},
		},
		"an unknown state": {version(1, 0, "Pending"), version(1, 1, "Sleeping"), []string{"no moves lead from Pending to Sleeping"}},
		"another end":      {withRun(version(1, 1, "Failed"), 7), withRun(version(1, 1, "Failed"), 8), []string{"the recorded end of the run changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, judge(c.former, c.next))
		})
	}
}

func TestCreatesOfUnknownOutcome(t *testing.T) {
	post, get := Request{Step: "s", Verb: "create", Resource: "jobs", N: 1}, Request{Step: "s", Verb: "get", Resource: "jobs", N: 1}
	broken := []string{"a create of unknown outcome was repeated without a live read: s: create jobs #1"}
	for name, c := range map[string]struct {
		between func(*creates)
		want    []string
	}{
		"no answer":                     {func(*creates) {}, broken},
		"an answer that tells nothing":  {func(c *creates) { c.answered(post, 504) }, broken},
		"an answer that tells":          {func(c *creates) { c.answered(post, 403) }, nil},
		"a read that tells it is there": {func(c *creates) { c.answered(get, 200) }, nil},
		"a read that tells it is not":   {func(c *creates) { c.answered(get, 404) }, nil},
		"a read that fails":             {func(c *creates) { c.answered(get, 403) }, broken},
		"the answer to another request": {func(c *creates) { c.answered(Request{Verb: "create", Resource: "events"}, 201) }, broken},
		"another step":                  {func(c *creates) { c.begin() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			follows := &creates{}
			follows.sent(post)
			c.between(follows)
			follows.sent(post)
			assert.Equal(t, c.want, follows.violations())
		})
	}
}

func TestWeatherFollowsFromTheSeed(t *testing.T) {
	request := Request{Step: "create", Verb: "create", Resource: "jobs", N: 1}
	faulty := 0
	for seed := range uint64(400) {
		w := forecast(seed, mishaps())
		assert.Equal(t, w.String(), forecast(seed, mishaps()).String())
		f, ok := w.fault(request)
		again, _ := w.fault(request)
		assert.Equal(t, f.name, again.name)
		if ok {
			faulty++
			assert.True(t, f.meets(request))
		}
	}
	assert.InDelta(t, 400/oneIn, faulty, 25)
}

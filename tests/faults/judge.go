package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/lifecycle"
)

// judge names what is wrong with one version of an agent following another.
// Former is nil for the first version. A status write may fold several moves
// only from creation and across a change of observedGeneration (design
// section 4).
func judge(former, next *v1alpha1.LoomAgent) []string {
	var was v1alpha1.LoomAgentStatus
	if former != nil {
		was = former.Status
	}
	is := next.Status
	switch {
	case is.ObservedGeneration > next.Generation:
		return []string{fmt.Sprintf("the status is about generation %d, and the agent has only reached %d", is.ObservedGeneration, next.Generation)}
	case was.ObservedGeneration == 0 && is.ObservedGeneration == 0:
		return nil
	case is.ObservedGeneration == 0:
		return []string{fmt.Sprintf("the record of generation %d is gone", was.ObservedGeneration)}
	case was.ObservedGeneration > is.ObservedGeneration:
		return []string{fmt.Sprintf("the status went back from generation %d to %d", was.ObservedGeneration, is.ObservedGeneration)}
	case was.ObservedGeneration == is.ObservedGeneration:
		return judgeMove(was, is)
	case !reachable(lifecycle.State(is.State)):
		return []string{fmt.Sprintf("no moves lead from Pending to %s", is.State)}
	default:
		return nil
	}
}

// judgeMove judges two statuses of one generation.
func judgeMove(was, is v1alpha1.LoomAgentStatus) []string {
	var wrong []string
	if was.State != is.State && !isMove(lifecycle.State(was.State), lifecycle.State(is.State)) {
		wrong = append(wrong, fmt.Sprintf("no move leads from %s to %s", was.State, is.State))
	}
	if was.Check != nil && !equality.Semantic.DeepEqual(was.Check, is.Check) {
		wrong = append(wrong, "the verdict of the check changed")
	}
	if was.Run != nil && !equality.Semantic.DeepEqual(was.Run, is.Run) {
		wrong = append(wrong, "the recorded end of the run changed")
	}
	if was.LastRun != nil && is.LastRun == nil {
		wrong = append(wrong, "the recorded end of the last run is gone")
	}
	return wrong
}

func isMove(from, to lifecycle.State) bool {
	for _, move := range lifecycle.Moves() {
		if move.From == from && move.To == to && move.Name != "respecify" {
			return true
		}
	}
	return false
}

// reachable tells whether the moves of one pass can lead from Pending to state.
func reachable(state lifecycle.State) bool {
	known := map[lifecycle.State]bool{lifecycle.Pending: true}
	for before := 0; before < len(known); {
		before = len(known)
		for _, move := range lifecycle.Moves() {
			if known[move.From] && move.Name != "respecify" {
				known[move.To] = true
			}
		}
	}
	return known[state]
}

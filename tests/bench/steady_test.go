package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestWhatDoesNotRestYet(t *testing.T) {
	shown := func(availability v1alpha1.DeploymentAvailability) v1alpha1.LoomAgentStatus {
		return v1alpha1.LoomAgentStatus{Deployment: &v1alpha1.DeploymentStatus{Availability: availability}}
	}
	for name, c := range map[string]struct {
		spec   v1alpha1.LoomAgentSpec
		status v1alpha1.LoomAgentStatus
		want   bool
	}{
		"an agent that serves, in its rollout": {serving(), v1alpha1.LoomAgentStatus{}, true},
		"one that is not available any more":   {serving(), shown(v1alpha1.Unavailable), true},
		"one that is available":                {serving(), shown(v1alpha1.Available), false},
		"one with a schedule":                  {scheduled(), v1alpha1.LoomAgentStatus{}, false},
		"one with a schedule and a document":   {scheduledDocument(), v1alpha1.LoomAgentStatus{}, false},
		"a command":                            {command(), v1alpha1.LoomAgentStatus{}, false},
	} {
		assert.Equal(t, c.want, startsToServe(v1alpha1.LoomAgent{Spec: c.spec, Status: c.status}), name)
	}
}

package gather_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/gather"
)

func TestReferences(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.LoomAgentSpec
		want []gather.Reference
	}{
		"all, in the order of the fields": {everything(), []gather.Reference{
			{Kind: gather.Secret, Name: "env", Field: "spec.secretRef"},
			{Kind: gather.Secret, Name: "files", Field: "spec.secretFiles"},
			{Kind: gather.Claim, Name: "claim", Field: "spec.workspace.claimName"},
			{Kind: gather.ConfigMap, Name: "input", Key: "text", Field: "spec.schedule.input.configMapKeyRef"},
		}},
		"none":                      {v1alpha1.LoomAgentSpec{}, nil},
		"a workspace without claim": {v1alpha1.LoomAgentSpec{Workspace: &v1alpha1.Workspace{MountPath: "/w"}}, nil},
		"a schedule without input":  {v1alpha1.LoomAgentSpec{Schedule: &v1alpha1.ScheduleSpec{}}, nil},
		"an input that is a text":   {v1alpha1.LoomAgentSpec{Schedule: &v1alpha1.ScheduleSpec{Input: &v1alpha1.ScheduleInput{Text: new("t")}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, gather.References(c.spec))
			keys := map[string]bool{}
			for _, reference := range c.want {
				keys[gather.IndexKey(reference.Kind, reference.Name)] = true
				keys[gather.IndexKey(reference.Kind, "")] = true // Any name.
			}
			found := map[string]bool{}
			for _, key := range gather.IndexKeys(agent("n", "a", c.spec)) {
				found[key] = true
			}
			assert.Equal(t, keys, found)
		})
	}
}

// Every kind that a document can name is watched.
func TestKindsCoverTheReferences(t *testing.T) {
	for _, reference := range gather.References(everything()) {
		assert.Contains(t, gather.Kinds(), reference.Kind)
	}
}

func TestIndexKeysTellKindsApart(t *testing.T) {
	assert.NotEqual(t, gather.IndexKey(gather.Secret, "a"), gather.IndexKey(gather.ConfigMap, "a"))
}

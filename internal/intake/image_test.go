package intake_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/internal/workload"
)

// A later operator has another default image. What runs keeps the one that it
// was started with, until its document changes.
func TestDefaultImageIsKeptForAGeneration(t *testing.T) {
	const former = "registry.example/agent:0"
	started := func(image string) v1alpha1.LoomAgentStatus {
		return v1alpha1.LoomAgentStatus{
			ObservedGeneration: 1, State: v1alpha1.StateRunning, Check: &v1alpha1.CheckResult{Message: "Fine."},
			Workload: &v1alpha1.Workload{Kind: "Deployment", Name: "a", UID: "u", Image: image},
		}
	}
	for name, c := range map[string]struct {
		status v1alpha1.LoomAgentStatus
		edit   func(*v1alpha1.LoomAgent)
		want   string
	}{
		"nothing was started":             {status: v1alpha1.LoomAgentStatus{}, want: image},
		"a workload was started":          {status: started(former), want: former},
		"the image was not recorded":      {status: started(""), want: image},
		"the document changed since":      {status: started(former), edit: func(a *v1alpha1.LoomAgent) { a.Spec.Suspend = new(false) }, want: image},
		"the document names an image now": {status: started(former), edit: func(a *v1alpha1.LoomAgent) { a.Spec.Image = &v1alpha1.ImageRef{Repository: "own", Tag: "1"} }, want: "own:1"},
		"the status came out of a backup": {status: restored(started(former)), want: image},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, good(c.status))
			if c.edit != nil {
				w.edit(c.edit)
			}
			got := ""
			w.work = func(_ context.Context, pass *journal.Pass) error {
				got = workload.Image(intake.Intake{DefaultImage: image}.Input(pass))
				return nil
			}
			_, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func restored(status v1alpha1.LoomAgentStatus) v1alpha1.LoomAgentStatus {
	status.ObservedGeneration = 7
	return status
}

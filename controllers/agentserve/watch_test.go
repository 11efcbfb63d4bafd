package agentserve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/observe"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

func TestWhatIsWatchedIsNotPolled(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		atLeast time.Duration
	}{
		"a rollout":           {v1alpha1.ReasonRolloutInProgress, 10 * stages.DefaultWait},
		"a crash loop":        {v1alpha1.ReasonCrashLooping, 10 * stages.DefaultWait},
		"a suspended agent":   {v1alpha1.ReasonSuspended, time.Hour},
		"an agent of no pods": {v1alpha1.ReasonScaledToZero, time.Hour},
	} {
		assert.GreaterOrEqual(t, patience(observe.Cause{Reason: c.reason}), c.atLeast, name)
	}
}

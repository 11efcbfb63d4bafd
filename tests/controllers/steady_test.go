package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// quiet is how long the operator must write nothing.
const quiet = 20 * time.Second

// settle makes an agent of every kind of rest, and waits for it.
func (w world) settle() []string {
	w.Helper()
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"key": "one"}})
	full := serving()
	full.SecretRef = &v1alpha1.SecretRef{Name: "keys"}
	full.Serve = &v1alpha1.ServeSettings{Replicas: new(int32(1)), Probes: &v1alpha1.Probes{Readiness: &corev1.Probe{
		InitialDelaySeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}},
	}}}
	full.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.test", Audience: "models"}}
	w.create("serve", full)
	w.create("command", command())
	w.create("schedule", scheduled())
	w.create("refused", refused())
	waiting := command()
	waiting.SecretRef = &v1alpha1.SecretRef{Name: "absent"}
	w.create("waiting", waiting)
	resting := scheduled()
	resting.Suspend = new(true)
	w.create("resting", resting)
	w.create("broken", serving())
	w.create("running", command())

	w.available("serve")
	w.completed("command")
	w.inForce("schedule")
	w.tick("schedule")
	w.ends(w.pod("schedule"), exit(1))
	w.await("schedule", "has a last run", condition(v1alpha1.ConditionLastRunSucceeded, metav1.ConditionFalse, v1alpha1.ReasonLastRunFailed))
	w.await("refused", "is refused", state(v1alpha1.StateRefused))
	w.await("waiting", "waits", notReady(v1alpha1.ReasonReferenceMissing))
	w.await("resting", "rests", notReady(v1alpha1.ReasonSuspended))
	w.waits(w.pod("broken"), "ImagePullBackOff", "Back-off pulling image")
	w.await("broken", "is degraded", state(v1alpha1.StateDegraded))
	w.pod("running")
	w.await("running", "runs", notReady(v1alpha1.ReasonRunning), state(v1alpha1.StateRunning))
	return []string{"serve", "command", "schedule", "refused", "waiting", "resting", "broken", "running"}
}

// touch wakes every agent, again and again, with changes that mean nothing.
func (w world) touch(agents []string) func(context.Context) error {
	n := 0
	return func(context.Context) error {
		n++
		for _, agent := range agents {
			edit(w, agent, func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"touched": fmt.Sprint(n)} })
		}
		edit(w, "keys", func(secret *corev1.Secret) { secret.Labels = map[string]string{"touched": fmt.Sprint(n)} })
		return nil
	}
}

// A31, A55, A67: an operator that has nothing to do writes nothing, also when
// it is woken all the time, and after it was started anew. Then it may tell of
// trouble that lasts once more, since Events expire.
func TestA55NothingIsWrittenWhenAllIsSettled(t *testing.T) {
	w := quietWorld(t)
	operator := harness.StartOperator(t, w.cluster)
	agents := w.settle()
	w.calm()
	before := map[string]*v1alpha1.LoomAgent{}
	for _, agent := range agents {
		before[agent] = w.agent(agent)
	}
	writes := len(w.cluster.Writes(t, harness.OperatorUser(), w.namespace))
	require.Positive(t, writes)

	harness.Always(t, quiet, "the agents are woken", w.touch(agents))
	assert.Empty(t, w.cluster.Writes(t, harness.OperatorUser(), w.namespace)[writes:], "while it runs")

	require.NoError(t, operator.Restart())
	operator.Working(t)
	harness.Always(t, quiet/2, "the agents are woken", w.touch(agents))
	for _, write := range w.cluster.Writes(t, harness.OperatorUser(), w.namespace)[writes:] {
		assert.Equal(t, "events", write.Resource, "after a restart: %s", write)
	}

	for _, agent := range agents {
		assert.Equal(t, before[agent].Status, w.agent(agent).Status, agent)
	}
}

// calm waits until the operator has written nothing for two seconds, since the
// last of what settles follows from Kubernetes' own controllers.
func (w world) calm() {
	w.Helper()
	last, since := 0, time.Now()
	w.eventually("the operator is calm", func(context.Context) error {
		if writes := len(w.cluster.Writes(w, harness.OperatorUser(), w.namespace)); writes != last {
			last, since = writes, time.Now()
		}
		if time.Since(since) < 2*time.Second {
			return fmt.Errorf("it has made %d writes", last)
		}
		return nil
	})
}

package controllers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// Healths of Argo CD.
const (
	healthy     = "Healthy"
	progressing = "Progressing"
	resting     = "Suspended"
	degraded    = "Degraded"
)

// What the tools that watch a rollout say of an agent is what Ready says: Argo
// CD by the script of config/argocd, run as Argo CD runs it, and everything that
// reads kstatus, such as Flux. An agent is healthy and current when Ready is
// True, and failed for kstatus when it will not become ready by itself.
func TestHealthForOtherToolsAgreesWithReady(t *testing.T) {
	tests := map[string]struct {
		arrive  func(w world) *v1alpha1.LoomAgent
		quiet   bool // no operator but the test's own
		argo    string
		kstatus kstatus.Status
	}{
		"new": {quiet: true, argo: progressing, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			return w.create("a", serving())
		}},
		"progressing": {argo: progressing, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", serving())
			return w.await("a", "rolls out", notReady(v1alpha1.ReasonRolloutInProgress))
		}},
		"serving": {argo: healthy, kstatus: kstatus.CurrentStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", serving())
			return w.available("a")
		}},
		"edited while nobody looks": {quiet: true, argo: progressing, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			operator := harness.StartOperator(w.T, w.cluster)
			w.create("a", serving())
			w.available("a")
			require.NoError(w, operator.Stop())
			return edit(w, "a", func(agent *v1alpha1.LoomAgent) { agent.Spec.Image = image("2") })
		}},
		"degraded": {argo: degraded, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", serving())
			w.waits(w.pod("a"), "ErrImagePull", "not found")
			return w.await("a", "is degraded", state(v1alpha1.StateDegraded), notReady(v1alpha1.ReasonImagePullFailed))
		}},
		"running": {argo: progressing, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", command())
			w.pod("a")
			return w.await("a", "runs", state(v1alpha1.StateRunning), notReady(v1alpha1.ReasonRunning))
		}},
		"completed": {argo: healthy, kstatus: kstatus.CurrentStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", command())
			return w.completed("a")
		}},
		"failed": {argo: degraded, kstatus: kstatus.FailedStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", command())
			w.ends(w.pod("a"), exit(3))
			return w.await("a", "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonRunFailed))
		}},
		"failed in a way that nobody knows": {argo: degraded, kstatus: kstatus.FailedStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", command())
			require.NoError(w, w.Delete(w.Context(), w.pod("a"), client.GracePeriodSeconds(0)))
			return w.await("a", "has failed", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonExitUnknown))
		}},
		"refused": {argo: degraded, kstatus: kstatus.FailedStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", refused())
			return w.await("a", "is refused", state(v1alpha1.StateRefused), notReady(v1alpha1.ReasonRefused))
		}},
		"suspended": {argo: resting, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			spec := serving()
			spec.Suspend = new(true)
			w.create("a", spec)
			return w.await("a", "rests", notReady(v1alpha1.ReasonSuspended))
		}},
		"paused": {argo: resting, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			agent := &v1alpha1.LoomAgent{ObjectMeta: w.meta("a"), Spec: command()}
			agent.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
			require.NoError(w, w.Create(w.Context(), agent))
			return w.await("a", "is paused", notReady(v1alpha1.ReasonPaused))
		}},
		"waiting": {argo: progressing, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			spec := command()
			spec.SecretRef = &v1alpha1.SecretRef{Name: "absent"}
			w.create("a", spec)
			return w.await("a", "waits", state(v1alpha1.StatePending), notReady(v1alpha1.ReasonReferenceMissing))
		}},
		"on a schedule": {argo: healthy, kstatus: kstatus.CurrentStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", scheduled())
			return w.inForce("a")
		}},
		"unknown": {quiet: true, argo: degraded, kstatus: kstatus.InProgressStatus, arrive: func(w world) *v1alpha1.LoomAgent {
			w.create("a", command())
			w.marked("a", func(*guard.Mark) {})
			cluster := w.without("jobs")
			w.make(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "no-reads"}, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch", "create", "patch", "delete"},
			}}})
			w.bind("no-reads", "restricted")
			harness.StartOperator(w.T, cluster)
			return w.await("a", "has an unknown outcome", notReady(v1alpha1.ReasonCreateOutcomeUnknown))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			enter := newWorld
			if test.quiet {
				enter = quietWorld
			}
			w := enter(t)
			agent := test.arrive(w)
			object := w.served(agent.Name)

			health, message := argoHealth(t, object)
			computed, err := kstatus.Compute(object)
			require.NoError(t, err)

			assert.Equal(t, test.argo, health, message)
			assert.Equal(t, test.kstatus, computed.Status, computed.Message)
			assert.NotEmpty(t, message)
			isReady := meta.IsStatusConditionTrue(agent.Status.Conditions, v1alpha1.ConditionReady) && agent.Status.ObservedGeneration == agent.Generation
			assert.Equal(t, isReady, health == healthy, "Argo CD and Ready")
			assert.Equal(t, isReady, computed.Status == kstatus.CurrentStatus, "kstatus and Ready")
			if computed.Status == kstatus.FailedStatus {
				assert.Equal(t, degraded, health, "Argo CD and kstatus")
			}
		})
	}
}

// served reads the agent as such tools do.
func (w world) served(name string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	require.NoError(w, w.Get(w.Context(), keyOf(w, name), object))
	return object
}

// argoHealth runs the script as Argo CD does: by the same interpreter, with the
// object in the global variable obj and no library to speak of.
func argoHealth(t *testing.T, object *unstructured.Unstructured) (status, message string) {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	script, err := os.ReadFile(filepath.Join(root, "config", "argocd", "health.lua"))
	require.NoError(t, err)
	text, err := json.Marshal(object)
	require.NoError(t, err)
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	lua.OpenBase(state)
	value, err := luajson.Decode(state, text)
	require.NoError(t, err)
	state.SetGlobal("obj", value)
	require.NoError(t, state.DoString(string(script)))
	result, isTable := state.Get(-1).(*lua.LTable)
	require.True(t, isTable, "%v", state.Get(-1))
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

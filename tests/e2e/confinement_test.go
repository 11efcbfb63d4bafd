package e2e

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// arbitraryUser is a user that no image knows, from a range such as OpenShift
// gives to each namespace. Its group is root's, as there.
const arbitraryUser = 1000680000

const asArbitraryUser = `[
          JSONPatch{op: "add", path: "/spec/securityContext/runAsUser", value: 1000680000},
          JSONPatch{op: "add", path: "/spec/securityContext/runAsGroup", value: 0},
          JSONPatch{op: "add", path: "/spec/securityContext/fsGroup", value: 1000680000}]`

// Every variant runs in a namespace that enforces the level restricted, as the
// user of the image and as an arbitrary one, which admission sets as OpenShift's
// does. Both read everything that the pod is given.
func TestEveryVariantRunsRestrictedAndAsAnyUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy string
		uid    int
	}{
		"the image's user":  {uid: 65532},
		"an arbitrary user": {policy: "arbitrary-user", uid: arbitraryUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := restricted(t)
			others(t, namespace, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"key": "value"}})
			if c.policy != "" {
				admission(t, namespace, c.policy, mutates, asArbitraryUser)
			}
			given := func(spec v1alpha1.LoomAgentSpec) v1alpha1.LoomAgentSpec {
				spec = withAdmission(spec, c.policy)
				spec.Agent, spec.SecretFiles = agentWith(""), &v1alpha1.SecretFiles{Name: "keys", MountPath: "/secrets"}
				spec.Workspace = &v1alpha1.Workspace{MountPath: "/workspace"}
				spec.Boundary = &v1alpha1.Boundary{Model: &v1alpha1.BoundaryUpstream{Upstream: "https://models.example", Audience: "models"}}
				return spec
			}
			ticking := scheduleSpec(everyMinute)
			ticking.Command = &v1alpha1.CommandSpec{Args: show}
			serving := create(t, namespace, "desk", given(servingSpec()))
			command := create(t, namespace, "notes", given(commandSpec(show...)))
			schedule := create(t, namespace, "digest", given(ticking))

			await(t, command, "has completed", inState(v1alpha1.StateCompleted))
			var seen probe
			logLine(t, onePod(t, command, "has succeeded", inPhase(corev1.PodSucceeded)), &seen)
			assertAtHome(t, seen, c.uid)

			await(t, serving, "serves", func(status v1alpha1.LoomAgentStatus) bool {
				return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
			})
			pod := onePod(t, serving, "runs", inPhase(corev1.PodRunning))
			seen = probe{}
			require.NoError(t, json.Unmarshal([]byte(kubectl(t, namespace, append([]string{"exec", pod.Name, "--", "/loom-agent"}, show...)...)), &seen))
			assertAtHome(t, seen, c.uid)

			status := await(t, schedule, "has run", func(status v1alpha1.LoomAgentStatus) bool { return status.LastRun != nil })
			assert.Equal(t, v1alpha1.RunSucceeded, status.LastRun.Phase)
			seen = probe{}
			logLine(t, firstPod(t, schedule), &seen)
			assertAtHome(t, seen, c.uid)
		})
	}
}

// show are the arguments that make the sample agent read one file of each
// volume.
var show = []string{"show", "/etc/loom/agent.json", "/etc/loom/boundary.json", "/etc/loom/tokens/model", "/secrets/key"}

func assertAtHome(t *testing.T, seen probe, uid int) {
	t.Helper()
	assert.Equal(t, uid, seen.UID)
	assert.True(t, seen.RootReadOnly)
	assert.Equal(t, "/workspace", seen.WorkingDirectory)
	require.Len(t, seen.Files, len(show)-1)
	for name, file := range seen.Files {
		assert.Empty(t, file.Error, name)
		assert.NotZero(t, file.Bytes, name)
	}
}

// firstPod is one of the pods of an agent.
func firstPod(t *testing.T, agent *v1alpha1.LoomAgent) corev1.Pod {
	t.Helper()
	var list []corev1.Pod
	harness.Eventually(t, patience, agent.Name+" has a pod", func(ctx context.Context) (err error) {
		list, err = pods(ctx, agent)
		return err
	})
	require.NotEmpty(t, list)
	return list[0]
}

package controllers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// A09, A27: what is missing is named, and the agent goes on when it appears.
func TestMissingReferences(t *testing.T) {
	tests := map[string]struct {
		variant string
		refer   func(*v1alpha1.LoomAgentSpec)
		object  client.Object
		names   []string
	}{
		"a Secret": {"serve", func(spec *v1alpha1.LoomAgentSpec) { spec.SecretRef = &v1alpha1.SecretRef{Name: "absent"} },
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "absent"}}, []string{`Secret "absent"`, "spec.secretRef", "not found"}},
		"a Secret of files": {"schedule", func(spec *v1alpha1.LoomAgentSpec) {
			spec.SecretFiles = &v1alpha1.SecretFiles{Name: "absent", MountPath: "/certs"}
		}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "absent"}}, []string{`Secret "absent"`, "spec.secretFiles", "not found"}},
		"A27 a claim": {"command", func(spec *v1alpha1.LoomAgentSpec) {
			spec.Workspace = &v1alpha1.Workspace{MountPath: "/w", ClaimName: new("absent")}
		}, claim(metav1.ObjectMeta{Name: "absent"}), []string{`"absent"`, "spec.workspace.claimName", "not found"}},
		"A27 a claim of a serving agent": {"serve", func(spec *v1alpha1.LoomAgentSpec) {
			spec.Workspace = &v1alpha1.Workspace{MountPath: "/w", ClaimName: new("absent")}
		}, claim(metav1.ObjectMeta{Name: "absent"}), []string{`"absent"`, "spec.workspace.claimName", "not found"}},
		"A09 a ConfigMap": {"schedule", func(spec *v1alpha1.LoomAgentSpec) {
			spec.Schedule.Input = &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "prompts", Key: "daily"}}
		}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prompts"}, Data: map[string]string{"daily": "x"}}, []string{`"prompts"`, `"daily"`, "not found"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := variants()[test.variant]()
			test.refer(&spec)
			w.create("a", spec)

			agent := w.await("a", "waits", state(v1alpha1.StatePending), notReady(v1alpha1.ReasonReferenceMissing))
			for _, part := range test.names {
				assert.Contains(t, message(agent, v1alpha1.ConditionReady), part)
			}
			assert.Empty(t, names(w.children()))

			w.make(test.object)
			w.settled(test.variant, "a")
			assert.Equal(t, int64(1), w.agent("a").Generation, "without an edit")
		})
	}
}

// A09: the ConfigMap is there and the key is not.
func TestA09MissingKeyHeals(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prompts"}, Data: map[string]string{"other": "x"}})
	spec := scheduled()
	spec.Schedule.Input = &v1alpha1.ScheduleInput{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "prompts", Key: "absent"}}
	w.create("t", spec)

	agent := w.await("t", "waits", state(v1alpha1.StatePending), notReady(v1alpha1.ReasonReferenceMissing))
	for _, part := range []string{`ConfigMap "prompts"`, `key "absent"`, "has no such key"} {
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), part)
	}

	edit(w, "prompts", func(prompts *corev1.ConfigMap) { prompts.Data["absent"] = "hello" })
	w.inForce("t")
}

// A10: new data of a Secret rolls a serving agent once, and nothing else does.
func TestA10ChangedSecretRollsADeploymentOnce(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"key": "one"}})
	for variant, spec := range variants() {
		spec := spec()
		spec.SecretRef = &v1alpha1.SecretRef{Name: "keys"}
		spec.SecretFiles = &v1alpha1.SecretFiles{Name: "keys", MountPath: "/keys"}
		w.create(variant, spec)
	}
	w.available("serve")
	w.inForce("schedule")
	before := w.completed("command")
	cronJob := get[batchv1.CronJob](w, "schedule").Generation

	edit(w, "keys", func(secret *corev1.Secret) { secret.Labels = map[string]string{"touched": "yes"} })
	w.always("no rollout for a label", func(ctx context.Context) error { return w.countRollouts(ctx, "serve", 1) })
	edit(w, "keys", func(secret *corev1.Secret) { secret.Data["key"] = []byte("two") })
	w.eventually("a rollout for new data", func(ctx context.Context) error { return w.countRollouts(ctx, "serve", 2) })
	w.available("serve")
	w.always("one rollout", func(ctx context.Context) error { return w.countRollouts(ctx, "serve", 2) })

	assert.Equal(t, before.Status, w.agent("command").Status, "a command is not run again")
	assert.Equal(t, cronJob, get[batchv1.CronJob](w, "schedule").Generation, "a schedule reads it at its next run")
}

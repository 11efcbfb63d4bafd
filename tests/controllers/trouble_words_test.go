package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// What cannot be told of a Job for want of a right names the resource and the
// verb, and heals when the right is given.
func TestMissingRightToReadIsNamed(t *testing.T) {
	t.Run("Events", func(t *testing.T) {
		w := quietWorld(t)
		harness.StartOperator(t, w.without("events"))
		w.make(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
		w.eventually("the quota is in force", lookAt(w, "none", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 }))
		w.create("c", command())

		agent := w.await("c", "is not ready", notReady(v1alpha1.ReasonChildForbidden))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), `list the Events of Job "`)
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), `cannot list resource "events"`)

		w.make(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "events"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}}}})
		w.bind("events", "restricted")
		w.await("c", "tells the quota", notReady(v1alpha1.ReasonQuotaExceeded))
	})
	t.Run("a recorded Job", func(t *testing.T) {
		w := quietWorld(t)
		cluster := w.without("jobs")
		w.make(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "no-reads"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch", "create", "patch", "delete"},
		}}})
		w.bind("no-reads", "restricted")
		harness.StartOperator(t, cluster)
		w.create("c", command())
		w.pod("c")
		job := w.await("c", "runs", hasWorkload("Job"), state(v1alpha1.StateRunning)).Status.Workload.Name
		w.remove(get[batchv1.Job](w, job))

		agent := w.await("c", "is not ready", notReady(v1alpha1.ReasonChildForbidden))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), `read Job "`+job+`"`)
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), `cannot get resource "jobs"`)

		edit(w, "no-reads", func(role *rbacv1.Role) { role.Rules[0].Verbs = append(role.Rules[0].Verbs, "get") })
		w.await("c", "has lost its run", state(v1alpha1.StateFailed), notReady(v1alpha1.ReasonRunLost))
	})
}

// A create whose outcome is unknown says what the API server answered.
func TestCreateOfUnknownOutcomeIsNamed(t *testing.T) {
	w := newWorld(t)
	webhook := w.silentWebhook("jobs." + w.namespace + ".test")
	w.create("c", command())

	agent := w.await("c", "is not ready", notReady(v1alpha1.ReasonReconcileError))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), `could not create Job "`)
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), webhook.Name)

	require.NoError(t, w.Delete(t.Context(), webhook))
	w.completed("c")
	assert.Len(t, w.jobs(), 1)
}

// silentWebhook has to be asked about every Job of this namespace, and does not
// answer.
func (w world) silentWebhook(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	w.Helper()
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:              name,
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			FailurePolicy:     new(admissionregistrationv1.Fail),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	require.NoError(w, w.Create(w.Context(), webhook))
	w.Cleanup(func() {
		assert.NoError(w, client.IgnoreNotFound(w.Delete(context.Background(), webhook)))
	})
	w.eventually("the webhook is asked", func(ctx context.Context) error {
		job := &batchv1.Job{ObjectMeta: w.meta("probe"), Spec: batchv1.JobSpec{Template: foreignPod(corev1.RestartPolicyNever)}}
		if err := w.Create(ctx, job, client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("a Job may be created: %w", err)
		}
		return nil
	})
	return webhook
}

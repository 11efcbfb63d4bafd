package controllers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// A08: a pod that cannot start shows on the agent, and heals without an edit.
func TestA08ImageThatCannotBePulled(t *testing.T) {
	t.Run("serve", func(t *testing.T) {
		w := newWorld(t)
		w.create("a", serving())
		pod := w.pod("a")

		w.waits(pod, "ErrImagePull", "not found")
		agent := w.await("a", "is degraded", state(v1alpha1.StateDegraded), notReady(v1alpha1.ReasonImagePullFailed))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), "registry.test/agent:1")

		w.serves(pod)
		w.await("a", "recovers", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonAvailable))
	})
	t.Run("command", func(t *testing.T) {
		w := newWorld(t)
		w.create("a", command())
		pod := w.pod("a")

		w.waits(pod, "ImagePullBackOff", "Back-off pulling image")
		agent := w.await("a", "is not ready", state(v1alpha1.StateRunning), notReady(v1alpha1.ReasonImagePullFailed))
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), "registry.test/agent:1")

		w.ends(pod, exit(0))
		w.await("a", "completes", state(v1alpha1.StateCompleted))
	})
}

func TestTroubleOfAPodThatServes(t *testing.T) {
	crashed := &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
	tests := map[string]struct {
		status corev1.PodStatus
		reason string
	}{
		"A58 it crashes again and again": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: v1alpha1.AgentContainer, RestartCount: 3, LastTerminationState: corev1.ContainerState{Terminated: crashed},
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}}, v1alpha1.ReasonCrashLooping},
		"no node fits": {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}}, v1alpha1.ReasonUnschedulable},
		"A63 no AppArmor profile": {corev1.PodStatus{Phase: corev1.PodPending, Reason: "AppArmor", Message: "Cannot enforce AppArmor"}, v1alpha1.ReasonAppArmor},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("s", serving())
			pod := w.pod("s")

			w.report(pod, func(status *corev1.PodStatus) { *status = test.status })
			w.await("s", "is degraded", state(v1alpha1.StateDegraded), notReady(test.reason))

			w.serves(pod)
			w.await("s", "recovers", state(v1alpha1.StateRunning), ready(metav1.ConditionTrue, v1alpha1.ReasonAvailable))
		})
	}
}

// A25: a quota blocks the pod, of which the Job itself says nothing.
func TestA25Quota(t *testing.T) {
	for variant, want := range map[string]v1alpha1.AgentState{"serve": v1alpha1.StateDegraded, "command": v1alpha1.StateRunning} {
		t.Run(variant, func(t *testing.T) {
			w := newWorld(t)
			w.make(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
			w.eventually("the quota is in force", lookAt(w, "none", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 }))
			w.create("a", variants()[variant]())

			agent := w.await("a", "is not ready", state(want), notReady(v1alpha1.ReasonQuotaExceeded))
			assert.Contains(t, message(agent, v1alpha1.ConditionReady), "FailedCreate")
			assert.Contains(t, message(agent, v1alpha1.ConditionReady), "exceeded quota: none")

			edit(w, "none", func(quota *corev1.ResourceQuota) { quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("1") })
			w.settled(variant, "a")
		})
	}
}

// A62: what a LimitRange sets into pods is no drift.
func TestA62LimitRange(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}}}})
	spec := serving()
	spec.Pod = &v1alpha1.PodSettings{Resources: &v1alpha1.Resources{Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "64Mi"}}}
	w.create("s", spec)

	agent := w.await("s", "is degraded", state(v1alpha1.StateDegraded), notReady(v1alpha1.ReasonLimitRangeViolation))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "256Mi")
	before := get[appsv1.Deployment](w, "s").Generation

	w.remove(&corev1.LimitRange{ObjectMeta: w.meta("large")})
	w.available("s")
	assert.Equal(t, before, get[appsv1.Deployment](w, "s").Generation)
}

// A26: the pods pass the level "restricted" as they are; what lowers it shows.
func TestA26PodSecurityRestricted(t *testing.T) {
	w := newWorld(t)
	restricted := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	require.NoError(t, w.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, client.RawPatch("application/merge-patch+json", restricted)))
	for variant, spec := range variants() {
		w.create(variant, spec())
	}
	lowered := serving()
	lowered.SeccompProfile = &v1alpha1.ConfinementProfile{Type: v1alpha1.ProfileUnconfined}
	w.create("lowered", lowered)

	w.available("serve")
	w.completed("command")
	w.inForce("schedule")
	w.tick("schedule")
	w.pod("schedule")
	agent := w.await("lowered", "is degraded", state(v1alpha1.StateDegraded), notReady(v1alpha1.ReasonPodSecurityViolation))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "seccompProfile")
}

// A46: an operator that lacks a right says so on the agent, the others go on,
// and granting the right heals it.
func TestA46MissingRight(t *testing.T) {
	w := quietWorld(t)
	cluster := w.without("configmaps")
	w.make(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "read"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}})
	w.bind("read", "restricted")
	harness.StartOperator(t, cluster)

	w.create("s", serving())
	bare := command()
	bare.Agent = nil
	w.create("bare", bare)

	agent := w.await("s", "is not ready", notReady(v1alpha1.ReasonChildForbidden), condition(v1alpha1.ConditionSynced, metav1.ConditionFalse, v1alpha1.ReasonReconcileError))
	for _, part := range []string{"configmaps", "create", w.namespace} {
		assert.Contains(t, message(agent, v1alpha1.ConditionReady), part)
	}
	w.completed("bare")

	edit(w, "read", func(role *rbacv1.Role) {
		role.Rules[0].Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}
	})
	w.available("s")
}

// The cluster has the admission plugin OwnerReferencesPermissionEnforcement, as
// OpenShift has: owning a child takes a right that is easy to forget.
func TestOwningAChildTakesARightOverFinalizers(t *testing.T) {
	w := quietWorld(t)
	harness.StartOperator(t, w.without("loomagents/finalizers"))

	w.create("s", serving())

	agent := w.await("s", "is not ready", notReady(v1alpha1.ReasonChildForbidden))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "blockOwnerDeletion")
}

// without is the cluster as an operator sees it that has its own rights in this
// namespace only, and lacks those over one resource.
func (w world) without(resource string) *harness.Cluster {
	w.Helper()
	own := &rbacv1.ClusterRole{}
	require.NoError(w, w.Get(w.Context(), client.ObjectKey{Name: harness.OperatorServiceAccount}, own))
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "restricted"}}
	for _, rule := range own.Rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(have string) bool { return have == resource })
		if len(rule.Resources) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	w.make(role)
	w.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "restricted"}})
	w.bind("restricted", "restricted")
	login, err := w.cluster.LoginAs(w.Context(), w.namespace, "restricted")
	require.NoError(w, err)
	cluster := *w.cluster
	cluster.OperatorConfig = login
	return &cluster
}

func (w world) bind(role, account string) {
	w.Helper()
	w.make(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}},
	})
}

// A20: an answer of the API server that refuses the Job for good or for now.
func TestA20RefusedCreateIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.make(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}}})
	w.eventually("the quota is in force", lookAt(w, "none", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 }))
	w.create("c", command())

	agent := w.await("c", "is not ready", notReady(v1alpha1.ReasonChildForbidden))
	assert.Contains(t, message(agent, v1alpha1.ConditionReady), "exceeded quota: none")
	w.await("c", "has no mark", func(agent *v1alpha1.LoomAgent) error {
		if _, marked := agent.Annotations[v1alpha1.CreatePendingAnnotation]; marked {
			return errors.New("it is marked")
		}
		return nil
	})

	edit(w, "none", func(quota *corev1.ResourceQuota) { quota.Spec.Hard["count/jobs.batch"] = resource.MustParse("1") })
	w.completed("c")
	assert.Len(t, w.jobs(), 1)
}

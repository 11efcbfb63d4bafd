package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

// Seed create-outcome-unknown: while a create of a Job is under way, the
// operator loses the right to read Jobs, and the API server cannot tell what
// became of the create. The status says what is not known and what to do,
// nothing is created meanwhile, and both ways out lead to one run: the right
// comes back, or a person looks and removes the mark.
//
// The test takes a right from the operator that all tests share, so it is not
// parallel.
func TestCreateOutcomeUnknown(t *testing.T) {
	namespace := restricted(t)
	ledger, err := harness.ServeLedger(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ledger.Close()) })
	rights := newRights(t)
	creates := loseCreates(t, namespace, rights)
	spec := commandSpec("run")
	spec.Env = []v1alpha1.EnvVar{{Name: "LEDGER_URL", Value: ledger.URL}}
	healing, cleared := create(t, namespace, "healing", spec), create(t, namespace, "cleared", spec)

	for _, agent := range []*v1alpha1.LoomAgent{healing, cleared} {
		assertUnknown(t, agent)
	}
	harness.Always(t, 5*time.Second, "nothing is created", func(ctx context.Context) error {
		jobs := &batchv1.JobList{}
		if err := cluster.Client.List(ctx, jobs, client.InNamespace(namespace)); err != nil || len(jobs.Items) > 0 {
			return fmt.Errorf("%d Jobs: %w", len(jobs.Items), err)
		}
		if sent := creates.sent(); len(sent) != 2 {
			return fmt.Errorf("the creates that were sent: %v", sent)
		}
		return nil
	})

	assert.Empty(t, kubectl(t, namespace, "get", "jobs", "--output=name"), "the person looks, and there is no Job")
	kubectl(t, namespace, "annotate", "loomagent", cleared.Name, v1alpha1.CreatePendingAnnotation+"-")
	await(t, cleared, "has completed", inState(v1alpha1.StateCompleted))
	assert.Equal(t, []string{cleared.Name}, startsOf(ledger))
	assertUnknown(t, healing)

	require.NoError(t, rights.give(t.Context()))
	await(t, healing, "has completed", inState(v1alpha1.StateCompleted))
	assert.Equal(t, []string{cleared.Name, healing.Name}, startsOf(ledger), "each program was started once")
	assert.Equal(t, 2, podsStarted(t, namespace), "in one pod each")
	assert.Len(t, creates.sent(), 4, "one lost create and one more for each")
	assert.NoError(t, creates.failed)
}

// assertUnknown shows what a person sees, and wants it to say what is not
// known, why, and what to do.
func assertUnknown(t *testing.T, agent *v1alpha1.LoomAgent) {
	t.Helper()
	await(t, agent, "does not know the outcome", func(status v1alpha1.LoomAgentStatus) bool {
		return condition(status, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonCreateOutcomeUnknown
	})
	described := kubectl(t, agent.Namespace, "describe", "loomagent", agent.Name)
	t.Log(described)
	for _, text := range []string{
		"CreateOutcomeUnknown", "ReconcileError", `cannot get resource "jobs"`, "Nothing is created meanwhile", "To clear it by hand",
		fmt.Sprintf("annotate loomagent %s %s-", agent.Name, v1alpha1.CreatePendingAnnotation),
	} {
		assert.Contains(t, described, text)
	}
	assert.Equal(t, metav1.ConditionFalse, condition(agent.Status, v1alpha1.ConditionReady).Status)
	assert.Equal(t, v1alpha1.StatePending, agent.Status.State)
}

// rights are the operator's to read one Job.
type rights struct{ role *rbacv1.ClusterRole }

// newRights returns them at the end of the test, whatever comes of it.
func newRights(t *testing.T) rights {
	t.Helper()
	r := rights{&rbacv1.ClusterRole{}}
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKey{Name: "loom-operator"}, r.role))
	t.Cleanup(func() { assert.NoError(t, r.give(context.Background())) })
	return r
}

// takeAway takes the verb get, and asks until the API server refuses it or ctx
// ends.
func (r rights) takeAway(ctx context.Context) error {
	role := r.role.DeepCopy()
	for i, rule := range role.Rules {
		if slices.Contains(rule.Resources, "jobs") {
			role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "get" })
		}
	}
	if err := cluster.Client.Patch(ctx, role, client.MergeFrom(r.role)); err != nil {
		return err
	}
	for {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: harness.OperatorUser(), ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Group: "batch", Resource: "jobs"},
		}}
		if err := cluster.Client.Create(ctx, review); err != nil || !review.Status.Allowed {
			return err
		}
	}
}

func (r rights) give(ctx context.Context) error {
	role := &rbacv1.ClusterRole{}
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(r.role), role); err != nil {
		return err
	}
	role.Rules = r.role.Rules
	return cluster.Client.Update(ctx, role)
}

// lostCreates is an admission webhook that lets the first create of each Job
// end in an error of the API server, which may come before or after a create
// took effect as far as a client can tell, and admits the others.
type lostCreates struct {
	rights rights

	mu     sync.Mutex
	jobs   []string // of the creates that were sent
	failed error
}

func loseCreates(t *testing.T, namespace string, r rights) *lostCreates {
	t.Helper()
	l := &lostCreates{rights: r}
	server := httptest.NewTLSServer(l)
	t.Cleanup(server.Close)
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "lost-creates.loom.beyond10x.dev", AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), FailurePolicy: new(admissionregistrationv1.Fail),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
		}},
	}
	require.NoError(t, cluster.Client.Create(t.Context(), webhook))
	t.Cleanup(func() { assert.NoError(t, cluster.Client.Delete(context.Background(), webhook)) })
	return l
}

// ServeHTTP answers a review.
func (l *lostCreates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		l.failed = errors.Join(err, errors.New("a request that is no review"))
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	lost := !slices.Contains(l.jobs, review.Request.Name)
	l.jobs = append(l.jobs, review.Request.Name)
	if lost {
		if len(l.jobs) == 1 {
			l.failed = l.rights.takeAway(r.Context())
		}
		http.Error(w, "lost", http.StatusInternalServerError)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	l.failed = errors.Join(l.failed, json.NewEncoder(w).Encode(review))
}

func (l *lostCreates) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.jobs)
}

// startsOf lists the agents whose program has started, once for each start.
func startsOf(ledger *harness.Ledger) []string {
	var agents []string
	for _, start := range ledger.Starts() {
		agents = append(agents, start.Agent)
	}
	slices.Sort(agents)
	return agents
}

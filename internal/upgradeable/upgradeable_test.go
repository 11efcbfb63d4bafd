package upgradeable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/operator-framework/operator-lib/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/guard"
)

func agent(name string, changes ...func(*v1alpha1.LoomAgent)) *v1alpha1.LoomAgent {
	a := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: 2}}
	for _, change := range changes {
		change(a)
	}
	return a
}

func marked(generation int64) func(*v1alpha1.LoomAgent) {
	return func(a *v1alpha1.LoomAgent) {
		a.Annotations = map[string]string{v1alpha1.CreatePendingAnnotation: guard.Mark{UID: a.UID, Generation: generation, Job: "job"}.String()}
	}
}

func ready(status metav1.ConditionStatus, reason string) func(*v1alpha1.LoomAgent) {
	return func(a *v1alpha1.LoomAgent) {
		a.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason}}
	}
}

var unknown = ready(metav1.ConditionFalse, v1alpha1.ReasonCreateOutcomeUnknown)

func TestAnUpgradeIsHeldBackWhileACreateIsOpen(t *testing.T) {
	copied := func(a *v1alpha1.LoomAgent) {
		a.Annotations = map[string]string{v1alpha1.CreatePendingAnnotation: guard.Mark{UID: "another", Generation: 2, Job: "job"}.String()}
	}
	for name, test := range map[string]struct {
		agents  []*v1alpha1.LoomAgent
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"there is no agent":                           {nil, metav1.ConditionTrue, ReasonNoCreateOpen, "can be upgraded"},
		"agents are at rest":                          {[]*v1alpha1.LoomAgent{agent("a", ready(metav1.ConditionTrue, v1alpha1.ReasonCompleted))}, metav1.ConditionTrue, ReasonNoCreateOpen, "can be upgraded"},
		"an agent failed for another reason":          {[]*v1alpha1.LoomAgent{agent("a", ready(metav1.ConditionFalse, v1alpha1.ReasonRunFailed))}, metav1.ConditionTrue, ReasonNoCreateOpen, "can be upgraded"},
		"a create is open":                            {[]*v1alpha1.LoomAgent{agent("a"), agent("b", marked(2))}, metav1.ConditionFalse, ReasonCreateOpen, "LoomAgent ns/b."},
		"a mark of an earlier generation is left":     {[]*v1alpha1.LoomAgent{agent("a", marked(1))}, metav1.ConditionTrue, ReasonNoCreateOpen, "can be upgraded"},
		"a mark came with copied YAML":                {[]*v1alpha1.LoomAgent{agent("a", copied)}, metav1.ConditionTrue, ReasonNoCreateOpen, "can be upgraded"},
		"an outcome is unknown":                       {[]*v1alpha1.LoomAgent{agent("a", marked(2), unknown)}, metav1.ConditionFalse, ReasonCreateOutcomeUnknown, "LoomAgent ns/a."},
		"an unknown outcome comes before an open one": {[]*v1alpha1.LoomAgent{agent("a", marked(2)), agent("b", unknown)}, metav1.ConditionFalse, ReasonCreateOutcomeUnknown, "LoomAgent ns/b."},
	} {
		t.Run(name, func(t *testing.T) {
			var agents []v1alpha1.LoomAgent
			for _, a := range test.agents {
				agents = append(agents, *a)
			}
			verdict := Judge(agents)
			assert.Equal(t, test.status, verdict.Status)
			assert.Equal(t, test.reason, verdict.Reason)
			assert.Contains(t, verdict.Message, test.message)
		})
	}
}

func TestALongListOfAgentsIsCut(t *testing.T) {
	var agents []v1alpha1.LoomAgent
	for i := range 5000 {
		agents = append(agents, *agent(fmt.Sprintf("a%04d", i), unknown))
	}
	verdict := Judge(agents)
	assert.Contains(t, verdict.Message, "ns/a0000, ns/a0001, ns/a0002, ns/a0003, ns/a0004 and 4995 more")
	assert.Less(t, len(verdict.Message), 1024)
}

func TestAVerdictIsAskedForWhenAnAgentTurns(t *testing.T) {
	calm, open, unclear := agent("a"), agent("a", marked(2)), agent("a", marked(2), unknown)
	completed := agent("a", ready(metav1.ConditionTrue, v1alpha1.ReasonCompleted))
	created := func(a client.Object) func(q *asked) {
		return func(q *asked) { turns().Create(t.Context(), event.CreateEvent{Object: a}, q) }
	}
	updated := func(before, after client.Object) func(q *asked) {
		return func(q *asked) { turns().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q) }
	}
	deleted := func(a client.Object) func(q *asked) {
		return func(q *asked) { turns().Delete(t.Context(), event.DeleteEvent{Object: a}, q) }
	}
	for name, test := range map[string]struct {
		event      func(q *asked)
		now, later int
	}{
		"a calm agent appears":         {created(calm), 0, 0},
		"an agent appears with a mark": {created(open), 1, 0},
		"a create is started":          {updated(calm, open), 1, 0},
		"its outcome is unknown":       {updated(open, unclear), 1, 0},
		"its outcome is recorded":      {updated(open, calm), 0, 1},
		"a run ends":                   {updated(calm, completed), 0, 0},
		"a calm agent goes":            {deleted(calm), 0, 0},
		"an agent goes with its mark":  {deleted(unclear), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := &asked{}
			test.event(q)
			assert.Equal(t, test.now, q.now, "at once")
			assert.Equal(t, test.later, q.later, "after a while, so that a create does not cost two writes")
		})
	}
}

// asked counts what is put into a queue.
type asked struct {
	queue
	now, later int
}

func (a *asked) Add(reconcile.Request) { a.now++ }

func (a *asked) AddAfter(reconcile.Request, time.Duration) { a.later++ }

// condition is an OperatorCondition's condition that counts its writes.
type condition struct {
	now    *metav1.Condition
	writes int
	fail   error
}

func (c *condition) Get(context.Context) (*metav1.Condition, error) {
	if c.now == nil {
		return nil, errors.New("not found")
	}
	return c.now, nil
}

func (c *condition) Set(_ context.Context, status metav1.ConditionStatus, options ...conditions.Option) error {
	if c.fail != nil {
		return c.fail
	}
	c.writes++
	c.now = &metav1.Condition{Status: status}
	for _, option := range options {
		option(c.now)
	}
	return nil
}

func TestTheConditionIsWrittenWhenTheVerdictChanges(t *testing.T) {
	world, written := cluster(t, interceptor.Funcs{}), &condition{}
	reporter := Reporter{Agents: world, Condition: written}
	pass := func() {
		t.Helper()
		_, err := reporter.Reconcile(t.Context(), all)
		require.NoError(t, err)
	}

	pass()
	assert.Equal(t, &metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonNoCreateOpen, Message: Judge(nil).Message}, written.now, "without an agent")
	pass()
	assert.Equal(t, 1, written.writes, "nothing has changed")

	a := agent("a", unknown)
	require.NoError(t, world.Create(t.Context(), a))
	pass()
	assert.Equal(t, metav1.ConditionFalse, written.now.Status)
	assert.Equal(t, ReasonCreateOutcomeUnknown, written.now.Reason)
	pass()
	assert.Equal(t, 2, written.writes)

	require.NoError(t, world.Delete(t.Context(), a))
	pass()
	assert.Equal(t, metav1.ConditionTrue, written.now.Status)
	assert.Equal(t, 3, written.writes)
}

func TestAFailureIsReportedAndTriedAgain(t *testing.T) {
	broken := errors.New("the API server is away")
	_, err := Reporter{Agents: cluster(t, interceptor.Funcs{}), Condition: &condition{fail: broken}}.Reconcile(t.Context(), all)
	require.ErrorIs(t, err, broken)

	unreadable := cluster(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken }})
	untouched := &condition{}
	_, err = Reporter{Agents: unreadable, Condition: untouched}.Reconcile(t.Context(), all)
	require.ErrorIs(t, err, broken)
	assert.Zero(t, untouched.writes, "agents that cannot be read are not taken for none")
}

func TestOutsideOLMNothingIsDone(t *testing.T) {
	t.Setenv(variable, "")
	require.NoError(t, Setup(nil))
}

func TestTheReporterJoinsTheManager(t *testing.T) {
	mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{
		Scheme:  cluster(t, interceptor.Funcs{}).Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return meta.NewDefaultRESTMapper(nil), nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, Reporter{Agents: mgr.GetClient(), Condition: &condition{}}.start(mgr))
}

func TestTheFirstVerdictIsAskedForWithoutAnAgent(t *testing.T) {
	q := &asked{}
	require.NoError(t, first(t.Context(), q))
	assert.Equal(t, 1, q.now)
}

func cluster(t *testing.T, calls interceptor.Funcs) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(calls).Build()
}

package controllers

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// fakeManager hands out a fake API server.
type fakeManager struct {
	manager.Manager
	client client.Client
	added  []manager.Runnable
}

func (m *fakeManager) GetClient() client.Client    { return m.client }
func (m *fakeManager) GetAPIReader() client.Reader { return m.client }

func (m *fakeManager) Add(runnable manager.Runnable) error {
	m.added = append(m.added, runnable)
	return m.Manager.Add(runnable)
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return scheme
}

// indexedBuilder is an indexer, so that index sets up the fake as it does the cache.
type indexedBuilder struct{ *fake.ClientBuilder }

func (b indexedBuilder) IndexField(_ context.Context, obj client.Object, field string, of client.IndexerFunc) error {
	b.WithIndex(obj, field, of)
	return nil
}

func newClient(t *testing.T, agent *v1alpha1.LoomAgent, funcs interceptor.Funcs) client.Client {
	t.Helper()
	b := indexedBuilder{fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(agent).WithStatusSubresource(agent).
		WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithInterceptorFuncs(funcs)}
	require.NoError(t, index(t.Context(), b))
	return b.Build()
}

func newAgent(spec v1alpha1.LoomAgentSpec) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "agent", Generation: 1}, Spec: spec}
}

func serving() v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Agent: v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"m","instructions":"i"}`)}
}

func read(t *testing.T, c client.Client) *v1alpha1.LoomAgent {
	t.Helper()
	agent := &v1alpha1.LoomAgent{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, agent))
	return agent
}

// An edit hands an agent from one controller to another, and the conditions of
// the former one go with it.
func TestRouter(t *testing.T) {
	command, schedule := v1alpha1.LoomAgentSpec{Command: &v1alpha1.CommandSpec{}}, serving()
	schedule.Schedule = &v1alpha1.ScheduleSpec{Cron: "@daily"}
	both := command
	both.Schedule = schedule.Schedule
	own := map[string]string{v1alpha1.ConditionAvailable: "Deployment", v1alpha1.ConditionCompleted: "Job", v1alpha1.ConditionScheduled: "CronJob"}
	for name, c := range map[string]struct {
		spec      v1alpha1.LoomAgentSpec
		condition string
	}{
		"a document serves":               {serving(), v1alpha1.ConditionAvailable},
		"a command runs once":             {command, v1alpha1.ConditionCompleted},
		"a document with a schedule runs": {schedule, v1alpha1.ConditionScheduled},
		"a command with a schedule runs":  {both, v1alpha1.ConditionScheduled},
	} {
		t.Run(name, func(t *testing.T) {
			agent := newAgent(c.spec)
			for condition := range own {
				agent.Status.Conditions = append(agent.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Former"})
			}
			api := newClient(t, agent, interceptor.Funcs{})
			r, err := newRouter(&fakeManager{client: api}, Options{AgentImage: "registry.example/agent:1"})
			require.NoError(t, err)
			for range 3 {
				_, err := r.Reconcile(t.Context(), read(t, api))
				require.NoError(t, err)
			}
			for condition := range own {
				_, found := stages.GetCondition(read(t, api), condition)
				assert.Equal(t, condition == c.condition, found, condition)
			}
			require.NotNil(t, read(t, api).Status.Workload)
			assert.Equal(t, own[c.condition], read(t, api).Status.Workload.Kind)
			assert.Equal(t, "registry.example/agent:1", read(t, api).Status.Workload.Image)
		})
	}
}

// A pass that has begun goes on after the process was told to stop, for a
// while; as long as it was not, it may take the time that it needs.
func TestPassDrains(t *testing.T) {
	for name, c := range map[string]struct {
		stopped   bool
		takes     time.Duration // a read of the Deployment
		want      time.Duration
		completed bool
	}{
		"short, and not stopped":        {false, 0, 0, true},
		"long, and not stopped":         {false, 25 * time.Second, 25 * time.Second, true},
		"stopped, and done in time":     {true, 11 * time.Second, 11 * time.Second, true},
		"stopped, and not done in time": {true, time.Minute, 12 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := interceptor.Funcs{
					Get: func(ctx context.Context, c2 client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
						if _, ok := obj.(*appsv1.Deployment); ok {
							select {
							case <-ctx.Done():
								return ctx.Err()
							case <-time.After(c.takes):
							}
						}
						return c2.Get(ctx, key, obj, opts...)
					},
				}
				api := newClient(t, newAgent(serving()), slow)
				r, err := newRouter(&fakeManager{client: api}, Options{AgentImage: "registry.example/agent:1"})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stopped {
					cancel()
				}
				begun := time.Now()

				_, err = r.Reconcile(ctx, read(t, api))

				assert.Equal(t, c.want, time.Since(begun))
				assert.Equal(t, c.completed, err == nil)
				assert.Equal(t, c.completed, read(t, api).Status.Workload != nil)
			})
		})
	}
}

// The operator's own marks must not cut a back-off short; everything else that
// somebody changes wakes the agent.
func TestOwnMarksDoNotWakeTheAgent(t *testing.T) {
	annotate := func(key, value string) func(*v1alpha1.LoomAgent) {
		return func(agent *v1alpha1.LoomAgent) { agent.Annotations[key] = value }
	}
	remove := func(key string) func(*v1alpha1.LoomAgent) {
		return func(agent *v1alpha1.LoomAgent) { delete(agent.Annotations, key) }
	}
	both := func(first, second func(*v1alpha1.LoomAgent)) func(*v1alpha1.LoomAgent) {
		return func(agent *v1alpha1.LoomAgent) { first(agent); second(agent) }
	}
	pending, run := v1alpha1.CreatePendingAnnotation, v1alpha1.RunAnnotation
	for name, c := range map[string]struct {
		before, change func(*v1alpha1.LoomAgent)
		want           bool
	}{
		"the mark is put on":                  {nil, annotate(pending, "1"), false},
		"the mark is changed":                 {annotate(pending, "1"), annotate(pending, "2"), false},
		"the mark is removed":                 {annotate(pending, "1"), remove(pending), false},
		"the run takes the place of the mark": {annotate(pending, "1"), both(annotate(run, "1"), remove(pending)), false},
		"the status is written":               {nil, func(agent *v1alpha1.LoomAgent) { agent.Status.State = v1alpha1.StateRunning }, false},
		"a mark and the document":             {nil, both(annotate(pending, "1"), func(agent *v1alpha1.LoomAgent) { agent.Generation++ }), true},
		"a mark and another annotation":       {nil, both(annotate(pending, "1"), annotate(v1alpha1.PausedAnnotation, "true")), true},
		"another annotation is put on":        {nil, annotate(v1alpha1.PausedAnnotation, "true"), true},
		"another annotation is changed":       {nil, annotate("example.com/kept", "no"), true},
		"another annotation is removed":       {nil, remove("example.com/kept"), true},
		"a label":                             {nil, func(agent *v1alpha1.LoomAgent) { agent.Labels = map[string]string{"team": "a"} }, true},
		"the document":                        {nil, func(agent *v1alpha1.LoomAgent) { agent.Generation++ }, true},
		"a deletion": {nil, func(agent *v1alpha1.LoomAgent) {
			agent.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}, true},
		"a resync, which changes nothing": {nil, func(agent *v1alpha1.LoomAgent) { agent.ResourceVersion = "1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := newAgent(serving())
			before.ResourceVersion, before.Annotations = "1", map[string]string{"example.com/kept": "yes"}
			if c.before != nil {
				c.before(before)
			}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			c.change(after)
			was := before.DeepCopy()
			assert.Equal(t, c.want, moreThanMarks().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
			assert.Equal(t, was, before, "the objects are the cache's")
		})
	}
	agent := newAgent(serving())
	assert.True(t, moreThanMarks().Create(event.CreateEvent{Object: agent}))
	assert.True(t, moreThanMarks().Delete(event.DeleteEvent{Object: agent}))
	assert.False(t, moreThanMarks().Update(event.UpdateEvent{
		ObjectOld: &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}},
		ObjectNew: &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2", Annotations: map[string]string{pending: "1"}}},
	}), "the first annotation of all")
}

// The three controllers share one queue, so passes over one agent never overlap.
func TestSetupStartsOneQueue(t *testing.T) {
	scheme := newScheme(t)
	informers := &informertest.FakeInformers{Scheme: scheme}
	mgr, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, manager.Options{
		Scheme:         scheme,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
	})
	require.NoError(t, err)
	wrapped := &fakeManager{Manager: mgr, client: mgr.GetClient()}
	require.NoError(t, Setup(t.Context(), wrapped, Options{Workers: 3}))
	assert.Len(t, wrapped.added, 1)
}

func TestSetupThatCannotIndex(t *testing.T) {
	failing := &failingManager{}
	assert.ErrorIs(t, Setup(t.Context(), failing, Options{}), errIndexed)
}

type failingManager struct{ manager.Manager }

func (failingManager) GetFieldIndexer() client.FieldIndexer {
	return &indexes{fail: "*v1.Deployment loom.owner"}
}

// A record that a backup tool took out of the status is written anew, although
// nothing but the status has changed.
func TestALostRecordWakesTheAgent(t *testing.T) {
	recorded := newAgent(serving())
	recorded.Generation = 1
	recorded.Status = v1alpha1.LoomAgentStatus{ObservedGeneration: 1, State: v1alpha1.StateRunning, Check: &v1alpha1.CheckResult{}}
	wiped := recorded.DeepCopy()
	wiped.Status = v1alpha1.LoomAgentStatus{State: v1alpha1.StatePending}
	lost := lostRecord()
	assert.True(t, lost.Update(event.UpdateEvent{ObjectOld: recorded, ObjectNew: wiped}))
	assert.False(t, lost.Update(event.UpdateEvent{ObjectOld: wiped, ObjectNew: recorded}), "the operator's own report")
	assert.False(t, lost.Update(event.UpdateEvent{ObjectOld: recorded, ObjectNew: recorded}))
	assert.False(t, lost.Update(event.UpdateEvent{ObjectOld: wiped, ObjectNew: wiped}))
}

package intake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/intake"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

const image = "registry.example/agent:1"

// world is an API server with the agent "a" and a controller of it, whose last
// stage is work.
type world struct {
	t      *testing.T
	client client.Client
	// read, when set, answers reads of Secrets; create answers creates of children.
	read, create error
	// watch and work are what the controller brings along.
	watch, work stages.Handler[*v1alpha1.LoomAgent]
	// watched and worked count their calls.
	watched, worked int

	statusWrites int
	childWrites  []string
	events       []string
	controller   *stages.Controller[*v1alpha1.LoomAgent]
}

func newWorld(t *testing.T, agent *v1alpha1.LoomAgent, objects ...client.Object) *world {
	t.Helper()
	nothing := func(context.Context, *journal.Pass) error { return nil }
	w := &world{t: t, watch: nothing, work: nothing}
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, agent)...).WithStatusSubresource(agent).WithInterceptorFuncs(w.interceptors()).
		WithTypeConverters(managedfields.NewDeducedTypeConverter())
	for _, kind := range append(children.Workloads(), children.Attachments()...) {
		b.WithIndex(kind, children.OwnerIndex, children.Owner)
	}
	w.client = b.Build()
	w.start()
	return w
}

// start builds the controller, which remembers nothing of an earlier one.
func (w *world) start() {
	w.t.Helper()
	in := intake.Intake{DefaultImage: image, Client: w.client, Live: w.client, Children: children.Remover{Client: w.client}}
	c := in.Open("test", func(ctx context.Context, pass *journal.Pass) error {
		w.watched++
		return w.watch(ctx, pass)
	})
	c.Stage(v1alpha1.ConditionAvailable).After(v1alpha1.ConditionReferencesResolved).Do(func(ctx context.Context, pass *journal.Pass) error {
		w.worked++
		return w.work(ctx, pass)
	})
	var err error
	w.controller, err = c.Build(w.client, w.client)
	require.NoError(w.t, err)
}

func (w *world) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Secret); ok && w.read != nil {
				return w.read
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if event, ok := obj.(*eventsv1.Event); ok {
				w.events = append(w.events, event.Type+" "+event.Reason+" "+event.Note)
				return c.Create(ctx, obj, opts...)
			}
			if w.create != nil {
				return w.create
			}
			w.childWrites = append(w.childWrites, "create")
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			w.childWrites = append(w.childWrites, "delete "+obj.GetObjectKind().GroupVersionKind().Kind)
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if patch.Type() == types.ApplyPatchType {
				w.childWrites = append(w.childWrites, "apply")
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			w.statusWrites++
			return c.SubResource(name).Update(ctx, obj, opts...)
		},
	}
}

// pass runs one pass over the agent as it is now. What earlier ones did is forgotten.
func (w *world) pass() (reconcile.Result, error) {
	w.t.Helper()
	w.statusWrites, w.watched, w.worked, w.childWrites, w.events = 0, 0, 0, nil, nil
	return w.controller.Reconcile(w.t.Context(), w.agent())
}

func (w *world) agent() *v1alpha1.LoomAgent {
	w.t.Helper()
	agent := &v1alpha1.LoomAgent{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, agent))
	return agent
}

// edit changes the spec, as a person does.
func (w *world) edit(change func(agent *v1alpha1.LoomAgent)) {
	w.t.Helper()
	agent := w.agent()
	change(agent)
	agent.Generation++
	require.NoError(w.t, w.client.Update(w.t.Context(), agent))
}

// condition returns a condition as "Status/Reason", and its message.
func (w *world) condition(conditionType string) (verdict, message string) {
	w.t.Helper()
	condition, ok := stages.GetCondition(w.agent(), conditionType)
	require.True(w.t, ok, "no condition %s", conditionType)
	return string(condition.Status) + "/" + condition.Reason, condition.Message
}

// left lists the agent's children that are there, by kind.
func (w *world) left() []string {
	w.t.Helper()
	var kinds []string
	for _, object := range estate() {
		if w.client.Get(w.t.Context(), client.ObjectKeyFromObject(object), object) == nil && object.GetDeletionTimestamp().IsZero() {
			kinds = append(kinds, object.GetName())
		}
	}
	return kinds
}

// sent tells whether an Event was sent that starts with the text.
func (w *world) sent(start string) bool {
	return slices.ContainsFunc(w.events, func(event string) bool { return strings.HasPrefix(event, start) })
}

// estate is what an earlier document left behind, each named after its kind.
func estate() []client.Object {
	owned := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("uid-" + name), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: "a", UID: "agent", Controller: new(true)},
		}}
	}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: owned("deployment")},
		&corev1.ConfigMap{ObjectMeta: owned("config")},
		&corev1.Service{ObjectMeta: owned("service")},
		&networkingv1.NetworkPolicy{ObjectMeta: owned("policy")},
	}
}

// good is an agent whose document the check accepts.
func good(status v1alpha1.LoomAgentStatus) *v1alpha1.LoomAgent {
	return &v1alpha1.LoomAgent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "agent", Generation: 1},
		Spec:       v1alpha1.LoomAgentSpec{Command: &v1alpha1.CommandSpec{}},
		Status:     status,
	}
}

// bad is an agent whose document has nothing to run.
func bad(status v1alpha1.LoomAgentStatus) *v1alpha1.LoomAgent {
	agent := good(status)
	agent.Spec = v1alpha1.LoomAgentSpec{}
	return agent
}

var errBroken = errors.New("broken")

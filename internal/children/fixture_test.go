package children_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/internal/children"
	"github.com/beyond10x/loom-operator/internal/journal"
	"github.com/beyond10x/loom-operator/pkg/stages"
)

// world is an API server with the agent "a", and what was asked of it.
type world struct {
	t       *testing.T
	client  client.Client
	deletes []deletion
	// fail, when set, answers deletes and applies.
	fail error
}

// deletion is a delete that was asked for.
type deletion struct {
	name string
	how  metav1.DeletionPropagation
	uid  types.UID
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t}
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "agent", Generation: 1}}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, agent)...).WithStatusSubresource(agent).
		WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				asked := (&client.DeleteOptions{}).ApplyOptions(opts)
				w.deletes = append(w.deletes, deletion{obj.GetName(), *asked.PropagationPolicy, *asked.Preconditions.UID})
				if w.fail != nil {
					return w.fail
				}
				return c.Delete(ctx, obj, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				if _, event := obj.(*eventsv1.Event); !event && w.fail != nil {
					return w.fail
				}
				return c.Create(ctx, obj, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if w.fail != nil && patch.Type() == types.ApplyPatchType {
					return w.fail
				}
				return c.Patch(ctx, obj, patch, opts...)
			},
		})
	for _, kind := range append(children.Workloads(), children.Attachments()...) {
		b.WithIndex(kind, children.OwnerIndex, children.Owner)
	}
	w.client = b.Build()
	return w
}

// pass runs one pass and returns what the handler returned and what follows.
func (w *world) pass(handler stages.Handler[*v1alpha1.LoomAgent]) (handled error, result reconcile.Result, err error) {
	w.t.Helper()
	record := func(ctx context.Context, pass *journal.Pass) error {
		handled = handler(ctx, pass)
		return handled
	}
	controller, err := stages.For[*v1alpha1.LoomAgent]("test", stages.TransitionEvents(false)).Reconcile(record).Build(w.client, w.client)
	require.NoError(w.t, err)
	result, err = controller.Reconcile(w.t.Context(), w.agent())
	return handled, result, err
}

func (w *world) agent() *v1alpha1.LoomAgent {
	w.t.Helper()
	agent := &v1alpha1.LoomAgent{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, agent))
	return agent
}

// ready returns the condition Ready as "Status/Reason" and its message.
func (w *world) ready() (verdict, message string) {
	w.t.Helper()
	condition, ok := stages.GetCondition(w.agent(), stages.Ready)
	require.True(w.t, ok)
	return string(condition.Status) + "/" + condition.Reason, condition.Message
}

// notes returns the notes of the Events by their action.
func (w *world) notes() map[string]string {
	w.t.Helper()
	var list eventsv1.EventList
	require.NoError(w.t, w.client.List(w.t.Context(), &list))
	notes := map[string]string{}
	for _, event := range list.Items {
		notes[event.Reason+" "+event.Action] = event.Note
	}
	return notes
}

// child makes an object one of the agent's, or of another controller's.
func child[T client.Object](object T, name string, owner types.UID) T {
	object.SetNamespace("n")
	object.SetName(name)
	object.SetUID(types.UID("uid-of-" + name))
	object.SetLabels(map[string]string{v1alpha1.AgentLabel: "agent"})
	if owner != "" {
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: owner, Controller: new(true)}})
	}
	return object
}

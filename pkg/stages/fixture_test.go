package stages_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/beyond10x/loom-operator/pkg/stages"
)

// Settings is the primary of these tests.
type Settings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SettingsSpec   `json:"spec,omitempty"`
	Status            SettingsStatus `json:"status,omitempty"`
}

type SettingsSpec struct {
	Message   string `json:"message,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
}

type SettingsStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Checksum           string             `json:"checksum,omitempty"`
	Notes              []string           `json:"notes,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func (s *Settings) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Notes = slices.Clone(s.Status.Notes)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

func (s *Settings) GetConditions() []metav1.Condition { return s.Status.Conditions }

func (s *Settings) SetConditions(conditions []metav1.Condition) { s.Status.Conditions = conditions }

func (s *Settings) SetObservedGeneration(generation int64) { s.Status.ObservedGeneration = generation }

type SettingsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Settings `json:"items"`
}

func (l *SettingsList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Settings))
	}
	return &out
}

type (
	pass    = *stages.Pass[*Settings]
	handler = stages.Handler[*Settings]
)

var (
	groupVersion = schema.GroupVersion{Group: "examples.beyond10x.dev", Version: "v1"}
	key          = client.ObjectKey{Namespace: "demo", Name: "settings"}
	start        = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
)

func newScheme(t *testing.T) *runtime.Scheme {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, eventsv1.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &Settings{}, &SettingsList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme
}

func newSettings() *Settings {
	return &Settings{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-1", Generation: 3},
		Spec:       SettingsSpec{Message: "hello"},
	}
}

// world is an API server with one Settings object, a stepped clock, counted writes and a captured log.
type world struct {
	t      *testing.T
	client client.WithWatch
	clock  *testingclock.FakeClock
	// before and after may fail a write; what is one of create, update, patch, apply, delete and status.
	before, after func(ctx context.Context, what string, obj client.Object) error

	mutex  sync.Mutex
	writes map[string]int
	lines  []string // logged as information
	errors []string // logged as errors
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	return newWorldOf(t, fake.NewClientBuilder().WithStatusSubresource(&Settings{}), objects)
}

func newWorldWithoutSubresource(t *testing.T) *world {
	return newWorldOf(t, fake.NewClientBuilder(), nil)
}

func newWorldOf(t *testing.T, b *fake.ClientBuilder, objects []client.Object) *world {
	w := &world{t: t, clock: testingclock.NewFakeClock(start), writes: map[string]int{}}
	if objects == nil {
		objects = []client.Object{newSettings()}
	}
	w.client = b.WithScheme(newScheme(t)).WithReturnManagedFields().WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				what := "create"
				if _, ok := obj.(*eventsv1.Event); ok {
					what = "event"
				}
				return w.write(ctx, what, obj, func() error { return c.Create(ctx, obj, opts...) })
			},
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				return w.write(ctx, "update", obj, func() error { return c.Update(ctx, obj, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				what := "patch"
				if patch.Type() == types.ApplyPatchType {
					what = "apply"
				}
				return w.write(ctx, what, obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				return w.write(ctx, name, obj, func() error { return c.SubResource(name).Update(ctx, obj, opts...) })
			},
		}).Build()
	return w
}

func (w *world) write(ctx context.Context, what string, obj client.Object, do func() error) error {
	w.mutex.Lock()
	w.writes[what]++
	w.mutex.Unlock()
	if w.before != nil {
		if err := w.before(ctx, what, obj); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if w.after != nil {
		return w.after(ctx, what, obj)
	}
	return nil
}

// taken returns the writes since the last call.
func (w *world) taken() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	taken := maps.Clone(w.writes)
	clear(w.writes)
	return taken
}

func (w *world) options(more ...stages.Option) []stages.Option {
	return append([]stages.Option{stages.Clock(w.clock), stages.Events(false)}, more...)
}

// plain builds a controller of one handler.
func (w *world) plain(h handler, options ...stages.Option) *stages.Controller[*Settings] {
	return w.build(stages.For[*Settings]("settings", w.options(options...)...).Reconcile(h))
}

// chain builds a controller of stages, each after the one before, that establish Condition1, Condition2 and so on.
func (w *world) chain(handlers []handler, options ...stages.Option) *stages.Controller[*Settings] {
	b := stages.For[*Settings]("settings", w.options(options...)...)
	chain(b, handlers)
	return w.build(b)
}

func chain(b *stages.Builder[*Settings], handlers []handler) {
	for i, h := range handlers {
		stage := b.Stage(conditionName(i)).Do(h)
		if i > 0 {
			stage.After(conditionName(i - 1))
		}
	}
}

func conditionName(i int) string { return "Condition" + string(rune('1'+i)) }

func (w *world) build(b *stages.Builder[*Settings]) *stages.Controller[*Settings] {
	return w.buildFor(b, w.client)
}

// buildFor builds a controller with a client of its own.
func (w *world) buildFor(b *stages.Builder[*Settings], api client.Client) *stages.Controller[*Settings] {
	c, err := b.Build(api, w.client)
	require.NoError(w.t, err)
	return c
}

// context carries a logger that keeps what is logged.
func (w *world) context() context.Context {
	logger := funcr.New(func(_, args string) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if strings.HasPrefix(args, `"level"`) {
			w.lines = append(w.lines, args)
		} else {
			w.errors = append(w.errors, args)
		}
	}, funcr.Options{})
	return log.IntoContext(w.t.Context(), logger)
}

// get reads the object.
func (w *world) get() *Settings {
	obj := &Settings{}
	require.NoError(w.t, w.client.Get(w.t.Context(), key, obj))
	return obj
}

// pass runs one pass over the object as it is now.
func (w *world) pass(c *stages.Controller[*Settings]) (reconcile.Result, error) {
	return c.Reconcile(w.context(), w.get())
}

// conditions returns the conditions as "Type=Status/Reason".
func (w *world) conditions() map[string]string {
	found := map[string]string{}
	for _, c := range w.get().Status.Conditions {
		found[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return found
}

func (w *world) sentEvents() []eventsv1.Event {
	list := &eventsv1.EventList{}
	require.NoError(w.t, w.client.List(w.t.Context(), list))
	return list.Items
}

func succeed(context.Context, pass) error { return nil }

func give(err error) handler { return func(context.Context, pass) error { return err } }

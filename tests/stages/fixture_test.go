// Package stages_test runs the example of package stages against a real API server, and breaks that API server.
package stages_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/beyond10x/loom-operator/examples/settings/v1"
	"github.com/beyond10x/loom-operator/pkg/stages"
	"github.com/beyond10x/loom-operator/tests/harness"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// soon is how long anything may take that needs no back-off.
const soon = 20 * time.Second

// world is a namespace of a real cluster, with a client that may do everything.
type world struct {
	t         *testing.T
	cluster   *harness.Cluster
	namespace string
	client    client.Client
	// login is what the controller may do: the permissions of the example, in this namespace.
	login *rest.Config
}

func newWorld(t *testing.T) *world {
	cluster := harness.ControlPlane(t)
	root, err := harness.Root()
	require.NoError(t, err)
	for _, name := range []string{"crd.yaml", "rbac.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "examples", "settings", "manifests", name))
		require.NoError(t, err)
		require.NoError(t, cluster.Apply(t.Context(), text))
	}
	c, err := client.New(cluster.Config, client.Options{Scheme: newScheme(t, v1.AddToScheme)})
	require.NoError(t, err)
	w := &world{t: t, cluster: cluster, namespace: cluster.Namespace(t), client: c}
	harness.Eventually(t, soon, "Settings are served", func(ctx context.Context) error { return c.List(ctx, &v1.SettingsList{}) })

	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}
	require.NoError(t, c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}))
	require.NoError(t, c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "settings-example"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "settings"}},
	}))
	w.login, err = cluster.LoginAs(t.Context(), w.namespace, "settings")
	require.NoError(t, err)
	return w
}

func newScheme(t *testing.T, add ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, f := range append(add, clientgoscheme.AddToScheme) {
		require.NoError(t, f(scheme))
	}
	return scheme
}

func (w *world) key() client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: "greeting"}
}

func (w *world) create(message string) {
	require.NoError(w.t, w.client.Create(w.t.Context(), &v1.Settings{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key().Name}, Spec: v1.SettingsSpec{Message: message},
	}))
}

func (w *world) get() *v1.Settings {
	obj := &v1.Settings{}
	require.NoError(w.t, w.client.Get(w.t.Context(), w.key(), obj))
	return obj
}

// edit changes the object as a user would.
func (w *world) edit(change func(*v1.Settings)) {
	obj := w.get()
	before := obj.DeepCopyObject().(*v1.Settings)
	change(obj)
	require.NoError(w.t, w.client.Patch(w.t.Context(), obj, client.MergeFrom(before)))
}

// shows waits until the object has exactly these conditions, as "Status/Reason", for its present generation.
func (w *world) shows(want map[string]string) {
	w.t.Helper()
	harness.Eventually(w.t, soon, fmt.Sprintf("the conditions are %v", want), func(ctx context.Context) error {
		obj := &v1.Settings{}
		if err := w.client.Get(ctx, w.key(), obj); err != nil {
			return err
		}
		if found := conditions(obj); !assert.ObjectsAreEqual(want, found) {
			return fmt.Errorf("they are %v", found)
		}
		if obj.Status.ObservedGeneration != obj.Generation {
			return fmt.Errorf("generation %d is examined, not %d", obj.Status.ObservedGeneration, obj.Generation)
		}
		return nil
	})
}

func conditions(obj *v1.Settings) map[string]string {
	found := map[string]string{}
	for _, c := range obj.Status.Conditions {
		found[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return found
}

// holds waits until the ConfigMap has the message.
func (w *world) holds(message string) {
	w.t.Helper()
	harness.Eventually(w.t, soon, "the ConfigMap holds "+message, func(ctx context.Context) error {
		child := &corev1.ConfigMap{}
		if err := w.client.Get(ctx, w.key(), child); err != nil {
			return err
		}
		if child.Data["message"] != message || !metav1.IsControlledBy(child, w.get()) {
			return fmt.Errorf("it is %v", child)
		}
		return nil
	})
}

// wire stands between a controller and the API server. It counts the writes, and a test may break them.
type wire struct {
	next http.RoundTripper
	// fault may answer a write in the server's place. The number is 1 for the first write of its kind.
	fault func(kind string, number int, request *http.Request) (*http.Response, error)
	// client may stand in the manager's place.
	client func(client.Client) client.Client

	mutex  sync.Mutex
	counts map[string]int
	errors []string
}

// kindOf names a write: status, event, child or other; reads have none.
func kindOf(request *http.Request) string {
	switch path := request.URL.Path; {
	case request.Method == http.MethodGet:
		return ""
	case strings.HasSuffix(path, "/status"):
		return "status"
	case strings.HasSuffix(path, "/events"):
		return "event"
	case strings.Contains(path, "/configmaps"):
		return "child"
	default:
		return "other"
	}
}

func (r *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if kind := kindOf(request); kind != "" {
		number := r.count(kind)
		if r.fault != nil {
			if response, err := r.fault(kind, number, request); response != nil || err != nil {
				return response, err
			}
		}
	}
	return r.next.RoundTrip(request)
}

// count adds one to the writes of a kind, or to the handler's calls.
func (r *wire) count(kind string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts[kind]++
	return r.counts[kind]
}

func (r *wire) counted() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	counted := map[string]int{}
	for kind, n := range r.counts {
		counted[kind] = n
	}
	return counted
}

// settles waits until the counts are as wanted, and sees that they stay so.
func (r *wire) settles(t *testing.T, timeout time.Duration, want map[string]int) {
	t.Helper()
	stays(t, timeout, want, r.counted)
}

// wrote is settles without the handler's calls, whose number depends on how the queue merges what the watches tell.
func (r *wire) wrote(t *testing.T, want map[string]int) {
	t.Helper()
	stays(t, soon, want, func() map[string]int {
		counted := r.counted()
		delete(counted, "call")
		return counted
	})
}

func stays(t *testing.T, timeout time.Duration, want map[string]int, count func() map[string]int) {
	t.Helper()
	same := func(context.Context) error {
		if counted := count(); !assert.ObjectsAreEqual(want, counted) {
			return fmt.Errorf("counted %v, wanted %v", counted, want)
		}
		return nil
	}
	harness.Eventually(t, timeout, "the writes and calls arrive", same)
	harness.Always(t, 2*time.Second, "no more writes and calls", same)
}

// answer is a response of the API server that the API server did not give.
func answer(request *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
	return &http.Response{
		StatusCode: code, Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)),
	}
}

// start runs the controller in this process until the test ends, connected through the wire.
func (w *world) start(r *wire, login *rest.Config, scheme *runtime.Scheme, b *stages.Builder[*v1.Settings]) {
	r.counts = map[string]int{}
	login = rest.CopyConfig(login)
	login.Wrap(func(next http.RoundTripper) http.RoundTripper { r.next = next; return r })
	mgr, err := ctrl.NewManager(login, ctrl.Options{
		Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}, Logger: r.logger(),
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w.t, err)
	api := mgr.GetClient()
	if r.client != nil {
		api = r.client(api)
	}
	c, err := b.Build(api, mgr.GetAPIReader())
	require.NoError(w.t, err)
	require.NoError(w.t, c.SetupWithManager(mgr))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.t.Cleanup(func() { stop(); assert.NoError(w.t, <-ended) })
	require.True(w.t, mgr.GetCache().WaitForCacheSync(ctx))
}

// logger keeps what is logged as an error.
func (r *wire) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		if !strings.HasPrefix(args, `"level"`) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.errors = append(r.errors, args)
		}
	}, funcr.Options{})
}

func (r *wire) logged() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string{}, r.errors...)
}

var errBroken = errors.New("the connection broke")

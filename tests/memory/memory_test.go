// Package memory_test measures the operator beside many objects of other
// people. It has a control plane of its own, which ends with the test: nobody
// else should have to live with so much.
package memory_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/harness"
)

const (
	// foreign is how many objects of each kind there are, and size what each holds.
	foreign = 5000
	size    = 10 << 10
	// atOnce is how many are created at a time.
	atOnce = 32
	// tolerance is how much more memory may be in use, of what an empty cluster takes.
	tolerance = 0.10
	// window is how long is measured.
	window   = 5 * time.Second
	patience = time.Minute
)

// use is what the process of the operator takes.
type use struct {
	// live is what the last garbage collection found in use, in bytes. Unlike
	// the resident memory it has no garbage and nothing that the runtime keeps
	// for later, so that a tenth of it can be told from noise.
	live float64
	// peak is the most memory that was resident, in bytes.
	peak int
	// read is how much the process has read, from the network too, in bytes.
	read int
}

func (u use) String() string {
	return fmt.Sprintf("%.2f MiB live, %d MiB resident at most, %.1f MiB read", u.live/(1<<20), u.peak>>20, float64(u.read)/(1<<20))
}

// A18: the memory of the operator does not grow with Secrets, ConfigMaps and
// pods of others, neither those that it sees come nor those that it finds when
// it starts; and it still sees the one that an agent of its own waits for.
func TestA18MemoryDoesNotGrowWithObjectsOfOthers(t *testing.T) {
	cluster, err := harness.Fresh(t.Context(), "memory", "--nodes", "0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Down(context.Background())) })
	metrics := freeAddress(t)
	// A collection at each percent of growth keeps what was measured fresh.
	t.Setenv("GOGC", "1")
	dir := t.TempDir()
	operator, err := harness.RunOperator(t.Context(), cluster, dir, "", "--metrics-secure=false", "--metrics-bind-address="+metrics)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, operator.Close()) })
	operator.Working(t)
	namespace := cluster.Namespace(t)
	first, second := waiting(t, cluster, namespace, "first"), waiting(t, cluster, namespace, "second")

	empty := measure(t, operator, metrics)
	fill(t, cluster, namespace)
	makeSecret(t, cluster, namespace, "first")
	goesOn(t, cluster, first)
	full := measure(t, operator, metrics)
	require.NoError(t, operator.Restart())
	operator.Working(t)
	makeSecret(t, cluster, namespace, "second")
	goesOn(t, cluster, second)
	restarted := measure(t, operator, metrics)

	t.Logf("empty cluster:      %s", empty)
	t.Logf("as they came:       %s", full)
	t.Logf("started among them: %s", restarted)
	for name, now := range map[string]use{"as they came": full, "started among them": restarted} {
		assert.Less(t, now.live, empty.live*(1+tolerance), name)
		// Of 150 MB it reads the metadata of Secrets and ConfigMaps.
		assert.Less(t, now.read, 3*foreign*size/10, name)
	}
}

// waiting makes an agent that waits for a Secret of its own name.
func waiting(t *testing.T, cluster *harness.Cluster, namespace, name string) *v1alpha1.LoomAgent {
	t.Helper()
	agent := &v1alpha1.LoomAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.LoomAgentSpec{
		Agent:     v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"default","instructions":"Say hello."}`),
		SecretRef: &v1alpha1.SecretRef{Name: name}, Schedule: &v1alpha1.ScheduleSpec{Cron: "0 0 29 2 *"},
	}}
	require.NoError(t, cluster.Client.Create(t.Context(), agent))
	shows(t, cluster, agent, metav1.ConditionFalse)
	return agent
}

func makeSecret(t *testing.T, cluster *harness.Cluster, namespace, name string) {
	t.Helper()
	require.NoError(t, cluster.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
}

func goesOn(t *testing.T, cluster *harness.Cluster, agent *v1alpha1.LoomAgent) {
	t.Helper()
	shows(t, cluster, agent, metav1.ConditionTrue)
}

func shows(t *testing.T, cluster *harness.Cluster, agent *v1alpha1.LoomAgent, ready metav1.ConditionStatus) {
	t.Helper()
	harness.Eventually(t, patience, fmt.Sprintf("Ready of %s is %s", agent.Name, ready), func(ctx context.Context) error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err
		}
		if !meta.IsStatusConditionPresentAndEqual(agent.Status.Conditions, v1alpha1.ConditionReady, ready) {
			return fmt.Errorf("conditions are %v", agent.Status.Conditions)
		}
		return nil
	})
}

// fill creates the objects of others.
func fill(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	// Content that cannot be compressed, so that what is read of it shows.
	random := make([]byte, size/2)
	_, err := rand.NewChaCha8([32]byte{}).Read(random)
	require.NoError(t, err)
	content := hex.EncodeToString(random)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(atOnce)
	for i := range foreign {
		object := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("foreign-%d", i)}
		large := *object.DeepCopy()
		large.Annotations = map[string]string{"content": content}
		for _, made := range []client.Object{
			&corev1.Secret{ObjectMeta: object, Data: map[string][]byte{"content": []byte(content)}},
			&corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{"content": content}},
			// No scheduler of this name looks at them.
			&corev1.Pod{ObjectMeta: large, Spec: corev1.PodSpec{
				SchedulerName: "nobody", AutomountServiceAccountToken: new(false),
				Containers: []corev1.Container{{Name: "main", Image: "registry.test/foreign:1"}},
			}},
		} {
			group.Go(func() error { return cluster.Client.Create(ctx, made) })
		}
	}
	require.NoError(t, group.Wait())
}

// measure takes the least of what the collections of a few seconds found: each
// request for the metrics makes enough garbage for one.
func measure(t *testing.T, operator *harness.Operator, metrics string) use {
	t.Helper()
	pid := operator.Process().Pid
	awaitRead(t, pid)
	least := math.Inf(1)
	harness.Always(t, window, "the metrics answer", func(ctx context.Context) error {
		live, err := liveBytes(ctx, metrics)
		if err == nil {
			least = min(least, live)
		}
		return err
	})
	return use{live: least, peak: procNumber(t, pid, "status", `VmHWM:\s+(\d+) kB`) << 10, read: bytesRead(t, pid)}
}

// awaitRead waits until the process has read what there is: lists and watches
// that are under way hold what they have got so far.
func awaitRead(t *testing.T, pid int) {
	t.Helper()
	last, since := 0, time.Now()
	harness.Eventually(t, patience, "the operator has read everything", func(context.Context) error {
		if read := bytesRead(t, pid); read > last+size {
			last, since = read, time.Now()
		}
		if time.Since(since) < window/2 {
			return fmt.Errorf("it has read %d bytes", last)
		}
		return nil
	})
}

// bytesRead is what the kernel has handed to the process, the network included.
func bytesRead(t *testing.T, pid int) int {
	t.Helper()
	return procNumber(t, pid, "io", `rchar: (\d+)`)
}

// liveBytes reads the metric of the runtime.
func liveBytes(ctx context.Context, metrics string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	// To compress the answer takes more memory than the tolerance.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, err
	}
	live := families["go_gc_heap_live_bytes"]
	if live == nil || len(live.Metric) != 1 {
		return 0, fmt.Errorf("the metrics have no go_gc_heap_live_bytes")
	}
	return live.Metric[0].GetGauge().GetValue(), nil
}

// procNumber finds a number in a file of /proc.
func procNumber(t *testing.T, pid int, file, pattern string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	require.NoError(t, err)
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	require.NotNil(t, match, "%s", text)
	number, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return number
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/tests/deploy"
	"github.com/beyond10x/loom-operator/tests/harness"
)

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	for _, name := range []string{"stranger", "reader"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		require.NoError(t, cluster.Client.Create(t.Context(), account))
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "loom-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}},
	}
	require.NoError(t, cluster.Client.Create(t.Context(), binding))
	t.Cleanup(func() { assert.NoError(t, cluster.Client.Delete(context.Background(), binding)) })

	for name, c := range map[string]struct {
		account string
		status  int
	}{
		"nobody":                           {status: http.StatusUnauthorized},
		"an account without the role":      {account: "stranger", status: http.StatusForbidden},
		"an account bound to metrics-read": {account: "reader", status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			token := ""
			if c.account != "" {
				login, err := cluster.LoginAs(t.Context(), namespace, c.account)
				require.NoError(t, err)
				token = login.BearerToken
			}
			var body string
			harness.Eventually(t, patience, "the metrics answer", func(ctx context.Context) (err error) {
				var status int
				if status, body, err = readMetrics(ctx, token); err == nil && status != c.status {
					err = fmt.Errorf("status %d, not %d: %s", status, c.status, body)
				}
				return err
			})
			assert.Equal(t, c.status == http.StatusOK, strings.Contains(body, "controller_runtime_"))
		})
	}
}

// readMetrics asks through the Service. The certificate is the process's own.
func readMetrics(ctx context.Context, token string) (status int, body string, err error) {
	service := &corev1.Service{}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: "loom-operator-metrics"}, service); err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://%s:8443/metrics", service.Spec.ClusterIP), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// The leader is stopped as a rollout does it, then killed as a lost node does.
// Either way another replica takes over and the work goes on.
func TestAnotherReplicaTakesOver(t *testing.T) {
	t.Parallel()
	namespace := restricted(t)
	leader := awaitLeader(t, "")
	ended := endOfOperator(t, leader)
	kubectl(t, deploy.Namespace, "delete", "pod", leader, "--wait=false")
	stopped := create(t, namespace, "while-it-stops", commandSpec("run"))
	next := awaitLeader(t, leader)
	await(t, stopped, "has completed", inState(v1alpha1.StateCompleted))
	assert.Equal(t, int32(0), <-ended, "a leader that is asked to stop ends well")

	kubectl(t, deploy.Namespace, "delete", "pod", next, "--grace-period=0", "--force")
	killed := create(t, namespace, "while-it-is-dead", commandSpec("run"))
	awaitLeader(t, next)
	await(t, killed, "has completed", inState(v1alpha1.StateCompleted))
	assert.Equal(t, 2, podsStarted(t, namespace), "each command ran once")
}

// awaitLeader waits until a pod that is not the former one, and that exists,
// holds the Lease.
func awaitLeader(t *testing.T, former string) string {
	t.Helper()
	var leader string
	harness.Eventually(t, patience, "another replica holds the Lease", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: "loom-operator"}, lease); err != nil {
			return err
		}
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		// The identity is the pod's name and a random part.
		leader, _, _ = strings.Cut(holder, "_")
		if leader == "" || leader == former {
			return fmt.Errorf("the holder is %q", holder)
		}
		return cluster.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: leader}, &corev1.Pod{})
	})
	return leader
}

// endOfOperator tells the exit code of a pod of the operator once it ends.
func endOfOperator(t *testing.T, name string) <-chan int32 {
	t.Helper()
	watching, err := cluster.Client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(deploy.Namespace), client.MatchingFields{"metadata.name": name})
	require.NoError(t, err)
	t.Cleanup(watching.Stop)
	ended := make(chan int32, 1)
	go func() {
		defer close(ended)
		code := int32(-1)
		for event := range watching.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				break
			}
			for _, status := range pod.Status.ContainerStatuses {
				if end := status.State.Terminated; end != nil {
					code = end.ExitCode
				}
			}
			if event.Type == watch.Deleted {
				break
			}
		}
		ended <- code
	}()
	return ended
}

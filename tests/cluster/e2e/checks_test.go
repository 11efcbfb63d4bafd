package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/cluster"
)

// checks look at one running cluster.
type checks struct {
	client     kubernetes.Interface
	kubeconfig string
	kubectl    string
}

func newChecks(t *testing.T, b bench, kubeconfig string) checks {
	t.Helper()
	layout, err := cluster.FindLayout(b.dir)
	require.NoError(t, err)
	c := checks{client: connect(t, kubeconfig), kubeconfig: kubeconfig, kubectl: filepath.Join(layout.Bin, "kubectl")}
	_, err = c.client.CoreV1().Namespaces().Create(t.Context(), restrictedNamespace(), metav1.CreateOptions{})
	require.NoError(t, err)
	c.await(t, func(ctx context.Context) (bool, string) {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return c
}

// await polls until holds is true; its text says what is there instead.
func (c checks) await(t *testing.T, holds func(context.Context) (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		done, found := holds(ctx)
		if done {
			return
		}
		select {
		case <-ctx.Done():
			require.Fail(t, "did not happen in time", "%s", found)
		case <-time.After(interval):
		}
	}
}

func describe(found *corev1.Pod, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s: %+v %+v", found.Status.Phase, found.Status.Conditions, found.Status.ContainerStatuses)
}

func (c checks) createPod(t *testing.T, wanted *corev1.Pod) {
	t.Helper()
	_, err := c.client.CoreV1().Pods(namespace).Create(t.Context(), wanted, metav1.CreateOptions{})
	require.NoError(t, err)
}

// firstPod waits until a pod with the label is as the test wants it.
func (c checks) firstPod(t *testing.T, selector string, wanted func(corev1.Pod) bool) corev1.Pod {
	t.Helper()
	var match corev1.Pod
	c.await(t, func(ctx context.Context) (bool, string) {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(pods.Items) == 0 {
			return false, fmt.Sprintf("no pod %s, error %v", selector, err)
		}
		match = pods.Items[0]
		return wanted(match), describe(&match, nil)
	})
	return match
}

func (c checks) webPod(t *testing.T) corev1.Pod {
	t.Helper()
	return c.firstPod(t, "app=web", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

func (c checks) logs(t *testing.T, podName string) string {
	t.Helper()
	out, err := exec.Command(c.kubectl, "--kubeconfig", c.kubeconfig, "--namespace", namespace, "logs", podName).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func (c checks) checkExitCode(t *testing.T) {
	_, err := c.client.BatchV1().Jobs(namespace).Create(t.Context(), job("seven", "exit", "7"), metav1.CreateOptions{})
	require.NoError(t, err)
	ended := c.firstPod(t, "batch.kubernetes.io/job-name=seven", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	assert.Equal(t, int32(7), ended.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	assert.Equal(t, "user 65532 ends with 7\n", c.logs(t, ended.Name))
}

func (c checks) checkService(t *testing.T) {
	_, err := c.client.AppsV1().Deployments(namespace).Create(t.Context(), webDeployment(), metav1.CreateOptions{})
	require.NoError(t, err)
	service, err := c.client.CoreV1().Services(namespace).Create(t.Context(), webService(), metav1.CreateOptions{})
	require.NoError(t, err)
	c.await(t, func(ctx context.Context) (bool, string) {
		web, err := c.client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		return err == nil && web.Status.AvailableReplicas == 1, fmt.Sprintf("%+v, error %v", web, err)
	})
	url := fmt.Sprintf("http://%s:%d/", service.Spec.ClusterIP, probePort)
	c.await(t, func(ctx context.Context) (bool, string) {
		answer, err := get(ctx, url)
		return answer == "served\n", fmt.Sprintf("%q, error %v", answer, err)
	})
	_, err = c.client.BatchV1().Jobs(namespace).Create(t.Context(), job("reader", "get", url), metav1.CreateOptions{})
	require.NoError(t, err)
	reader := c.firstPod(t, "batch.kubernetes.io/job-name=reader", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	assert.Equal(t, "served\n", c.logs(t, reader.Name))
}

func (c checks) checkServiceAccount(t *testing.T) {
	asking := pod("asking", probeImage, "whoami")
	asking.Spec.AutomountServiceAccountToken = nil
	c.createPod(t, asking)
	c.await(t, func(ctx context.Context) (bool, string) {
		found, err := c.client.CoreV1().Pods(namespace).Get(ctx, "asking", metav1.GetOptions{})
		return err == nil && found.Status.Phase == corev1.PodSucceeded, describe(found, err)
	})
	assert.Contains(t, c.logs(t, "asking"), "system:serviceaccount:restricted:default")
}

func (c checks) checkUnknownImage(t *testing.T) {
	created := time.Now()
	c.createPod(t, pod("unknown-image", "registry.example/unknown:1"))
	c.await(t, func(ctx context.Context) (bool, string) {
		found, err := c.client.CoreV1().Pods(namespace).Get(ctx, "unknown-image", metav1.GetOptions{})
		if err != nil || len(found.Status.ContainerStatuses) == 0 {
			return false, describe(found, err)
		}
		waiting := found.Status.ContainerStatuses[0].State.Waiting
		return waiting != nil && (waiting.Reason == "ErrImagePull" || waiting.Reason == "ImagePullBackOff"), describe(found, err)
	})
	assert.Less(t, time.Since(created), 15*time.Second)
}

func (c checks) checkPodSecurity(t *testing.T) {
	greedy := pod("greedy", probeImage, "exit", "0")
	greedy.Spec.HostNetwork = true
	_, err := c.client.CoreV1().Pods(namespace).Create(t.Context(), greedy, metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

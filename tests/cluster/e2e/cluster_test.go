// Package e2e shows that a cluster runs containers and leaves nothing behind. It needs root, Debian and, the first
// time, ten minutes for the build; it fails where it cannot run.
package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/image"
)

const (
	patience = 3 * time.Minute
	interval = 100 * time.Millisecond
)

// bench is the built command and the directory its clusters run in.
type bench struct {
	program string
	dir     string
}

func TestClusterUpRunsContainersAndDownLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.clearMachine(t)
	b.command(t, "down", "--name", "e2e") // removes nothing; it must not fail either
	before := observe(t, b.dir)
	t.Cleanup(func() { b.command(t, "down", "--all") }) // also after a failure below

	kubeconfig := b.command(t, "up", "--name", "e2e")
	assert.Equal(t, kubeconfig, b.command(t, "up", "--name", "e2e"), "up on a running cluster prints the same path")
	t.Run("a second control plane runs beside it", func(t *testing.T) { b.checkSecondControlPlane(t) })
	t.Run("a second node is refused and the first is named", func(t *testing.T) { b.checkSecondNode(t) })

	b.loadProbe(t, "e2e")
	c := newChecks(t, b, kubeconfig)
	t.Run("the exit code and the log of a container arrive", c.checkExitCode)
	t.Run("a Deployment serves and pods and the machine reach its Service", c.checkService)
	t.Run("a pod talks to the API server as its ServiceAccount", c.checkServiceAccount)
	t.Run("an image that was not loaded fails to pull at once", c.checkUnknownImage)
	t.Run("a pod that asks for too much is refused", c.checkPodSecurity)
	t.Run("components restart while containers go on", func(t *testing.T) { b.checkRestarts(t, c) })

	b.command(t, "down", "--name", "e2e")
	after := observe(t, b.dir)
	if before.Tables == "" {
		before.Tables = after.Tables // nft was not there yet
		assert.NotContains(t, after.Tables, "kube-proxy")
	}
	assert.Equal(t, before, after, "down leaves nothing")
	assert.NoDirExists(t, filepath.Join(b.dir, "e2e"))
}

func TestUpClearsWhatACrashLeft(t *testing.T) {
	b := newBench(t)
	b.clearMachine(t)
	before := observe(t, b.dir)
	t.Cleanup(func() { b.command(t, "down", "--all") })
	kubeconfig := b.command(t, "up", "--name", "crashed")
	b.loadProbe(t, "crashed")
	c := newChecks(t, b, kubeconfig)
	_, err := c.client.AppsV1().Deployments(namespace).Create(t.Context(), webDeployment(), metav1.CreateOptions{})
	require.NoError(t, err)
	c.webPod(t)
	for _, component := range observe(t, filepath.Join(b.dir, "crashed")).Programs {
		if filepath.Base(component.Name) != "containerd-shim-runc-v2" {
			require.NoError(t, component.Stop(t.Context(), 0))
		}
	}

	b.command(t, "up", "--name", "next")
	left := observe(t, filepath.Join(b.dir, "crashed"))
	assert.Empty(t, left.Programs)
	assert.Empty(t, left.Groups, "the control groups of its containers")
	b.command(t, "down", "--all")
	assert.Equal(t, before, observe(t, b.dir), "down leaves nothing")
}

func TestDownStopsAClusterWhoseStateIsLost(t *testing.T) {
	b := newBench(t)
	t.Cleanup(func() { b.command(t, "down", "--all") })
	b.command(t, "up", "--name", "lost", "--nodes", "0")
	require.NoError(t, os.Remove(filepath.Join(b.dir, "lost", "state.json")))
	b.command(t, "down", "--name", "lost")
	assert.Empty(t, observe(t, b.dir).Programs)
}

func newBench(t *testing.T) bench {
	t.Helper()
	return bench{program: build(t, "..", "cluster"), dir: t.TempDir()}
}

// clearMachine removes what a cluster left that was killed with all its programs, so that a test compares with a
// machine without one. Other machines stay as they are: a first cluster would hide what every cluster leaves. A
// cluster that still runs is not stopped; the failure says how to.
func (b bench) clearMachine(t *testing.T) {
	t.Helper()
	if _, err := net.InterfaceByName("loom0"); err != nil {
		return // no node has this machine
	}
	b.command(t, "up", "--name", "clear")
	b.command(t, "down", "--name", "clear")
}

// build makes a program of a package of this module.
func build(t *testing.T, pkg, name string, environment ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", program, pkg)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// command runs the cluster command and returns what it prints.
func (b bench) command(t *testing.T, args ...string) string {
	t.Helper()
	out, problem, err := b.try(args...)
	require.NoError(t, err, "%v: %s", args, problem)
	return out
}

func (b bench) try(args ...string) (out, problem string, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(b.program, append(args, "--dir", b.dir)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return strings.TrimSpace(stdout.String()), stderr.String(), err
}

// loadProbe packs the probe and imports it into the node.
func (b bench) loadProbe(t *testing.T, name string) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "probe.tar")
	require.NoError(t, image.Pack(archive, probeImage, build(t, "./probe", "probe", "CGO_ENABLED=0"), "65532:65532"))
	b.command(t, "load", "--name", name, archive)
}

func (b bench) checkSecondControlPlane(t *testing.T) {
	kubeconfig := b.command(t, "up", "--name", "beside", "--nodes", "0", "--controller-manager=false")
	client := connect(t, kubeconfig)
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "beside"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.command(t, "down", "--name", "beside")
	_, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "beside", metav1.GetOptions{})
	assert.Error(t, err, "its API server is gone")
}

func (b bench) checkSecondNode(t *testing.T) {
	_, problem, err := b.try("up", "--name", "other")
	require.Error(t, err)
	assert.Contains(t, problem, `already has a node, of cluster "e2e"`)
}

func (b bench) checkRestarts(t *testing.T, c checks) {
	web := c.webPod(t)
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "containerd"} {
		b.command(t, "restart", "--name", "e2e", component)
	}
	c.createPod(t, pod("after-restarts", probeImage, "exit", "0"))
	c.await(t, func(ctx context.Context) (bool, string) {
		found, err := c.client.CoreV1().Pods(namespace).Get(ctx, "after-restarts", metav1.GetOptions{})
		return err == nil && found.Status.Phase == corev1.PodSucceeded, describe(found, err)
	})
	same, err := c.client.CoreV1().Pods(namespace).Get(t.Context(), web.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, web.Status.ContainerStatuses[0].ContainerID, same.Status.ContainerStatuses[0].ContainerID)
}

func connect(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

package cluster

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		options Options
		problem string
	}{
		"a control plane":                         {options: Options{Name: "one", ControllerManager: true}},
		"a control plane without controllers":     {options: Options{Name: "one"}},
		"a name that is a path":                   {options: Options{Name: "../one"}, problem: `--name "../one" is not a valid name`},
		"no name":                                 {options: Options{}, problem: "is not a valid name"},
		"two nodes":                               {options: Options{Name: "one", Nodes: 2, ControllerManager: true}, problem: "--nodes must be 0 or 1, not 2"},
		"a negative number of nodes":              {options: Options{Name: "one", Nodes: -1}, problem: "--nodes must be 0 or 1"},
		"a node that no controller takes care of": {options: Options{Name: "one", Nodes: 1}, problem: "--controller-manager=false needs --nodes 0"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			err := test.options.check()
			if test.problem == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, test.problem)
			}
		})
	}
}

func TestARunningClusterIsNotTurnedIntoAnother(t *testing.T) {
	config := exampleConfig()
	assert.NoError(t, config.matches(Options{Nodes: 1, ControllerManager: true}))
	assert.ErrorContains(t, config.matches(Options{Nodes: 0, ControllerManager: true}), "already runs with other options")
	assert.ErrorContains(t, config.matches(Options{Nodes: 1}), "already runs with other options")
}

func TestWithoutANodeOnlyTheControlPlaneStarts(t *testing.T) {
	config := exampleConfig()
	config.Node, config.ControllerManager = false, false
	var names []string
	for _, phase := range config.phases() {
		for _, spec := range phase {
			names = append(names, spec.Name)
			assert.NotContains(t, spec.Argv[0], "nsenter")
		}
	}
	assert.Equal(t, []string{"etcd", "kube-apiserver"}, names)
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(3)
	require.NoError(t, err)
	require.Len(t, ports, 3)
	assert.NotEqual(t, ports[0], ports[1])
	assert.NotEqual(t, ports[1], ports[2])
	assert.NotEqual(t, ports[0], ports[2])
}

func TestKubeconfigsAreComplete(t *testing.T) {
	config := exampleConfig()
	config.Dir = t.TempDir()
	require.NoError(t, config.writeCredentials(time.Now()))
	for file, subject := range config.users() {
		loaded, err := clientcmd.LoadFromFile(config.path(file))
		require.NoError(t, err, file)
		require.NoError(t, clientcmd.Validate(*loaded), file)
		assert.Equal(t, "https://10.245.0.1:6443", loaded.Clusters["example"].Server)
		assert.Contains(t, loaded.AuthInfos, subject.User)
	}
}

func TestAComponentThatEndsIsReportedWithItsLog(t *testing.T) {
	spec := process.Spec{Name: "etcd", Argv: []string{"/bin/sh", "-c", "echo no space left >&2; exit 1"}, Log: filepath.Join(t.TempDir(), "etcd.log")}
	started, err := process.Start(spec)
	require.NoError(t, err)
	err = exampleConfig().awaitReady(t.Context(), started, time.Now())
	assert.ErrorContains(t, err, "etcd did not come up: it ended")
	assert.ErrorContains(t, err, "no space left")
	assert.ErrorContains(t, err, spec.Log)
}

func TestPollEndsWithItsContextOrItsLimit(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	assert.EqualError(t, poll(t.Context(), time.Millisecond, never), "not ready after 1ms: not yet")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, poll(ctx, time.Minute, never), context.Canceled)
	assert.NoError(t, poll(t.Context(), time.Minute, func(context.Context) error { return nil }))
}

func TestNodeReady(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.UTC)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "example"}}
	assert.EqualError(t, nodeReady(node, since), "node example does not say yet whether it is Ready")
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "NoNetwork", Message: "waiting",
		LastHeartbeatTime: metav1.NewTime(since.Truncate(time.Second)),
	}}
	ready := &node.Status.Conditions[0]
	assert.EqualError(t, nodeReady(node, since), "node example was last heard of before its kubelet started")
	ready.LastHeartbeatTime = metav1.NewTime(since.Truncate(time.Second).Add(time.Second))
	assert.EqualError(t, nodeReady(node, since), "node example is not Ready: NoNetwork: waiting")
	ready.Status = corev1.ConditionTrue
	assert.NoError(t, nodeReady(node, since))
}

func TestUnmanagedImage(t *testing.T) {
	const head = "REF TYPE DIGEST SIZE PLATFORMS LABELS\n"
	const known = "loom.local/a:1 type digest 1MiB linux/amd64 io.cri-containerd.image=managed\n"
	assert.NoError(t, unmanagedImage(head))
	assert.NoError(t, unmanagedImage(head+known))
	assert.ErrorContains(t, unmanagedImage(head+known+"loom.local/b:1 type digest 1MiB linux/amd64 -"), "loom.local/b:1")
}

func TestMissingPackagesAreNamedOnce(t *testing.T) {
	nothing := func(string) (string, error) { return "", errors.New("not found") }
	assert.Equal(t, []string{"containerd", "runc", "nftables", "conntrack", "iproute2"}, missingPackages(nothing))
	everything := func(program string) (string, error) { return "/usr/bin/" + program, nil }
	assert.Empty(t, missingPackages(everything))
}

func TestCommandsOnAClusterThatDoesNotExist(t *testing.T) {
	m := &Manager{Layout: Layout{Runs: filepath.Join(t.TempDir(), "runs")}, Progress: io.Discard}
	_, err := m.Kubeconfig("none")
	assert.ErrorContains(t, err, `there is no cluster "none"`)
	assert.ErrorContains(t, m.Restart(t.Context(), "none", "etcd"), `there is no cluster "none"`)
	assert.ErrorContains(t, m.Load(t.Context(), "../none", nil), "is not a valid name")
	assert.NoError(t, m.Down(t.Context(), "none"), "there is nothing to stop")
	assert.NoError(t, m.DownAll(t.Context()))
}

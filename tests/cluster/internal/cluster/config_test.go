package cluster

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

// exampleConfig is a cluster with everything.
func exampleConfig() Config {
	return Config{
		Name: "example", Dir: "/clusters/example", Bin: "/bins", Node: true, ControllerManager: true,
		Address: nodeAddress, Port: nodePort, EtcdPort: 2379, EtcdPeerPort: 2380, CNIBin: "/usr/lib/cni",
	}
}

func render(t *testing.T, name string) []byte {
	t.Helper()
	text, err := exampleConfig().render(name)
	require.NoError(t, err)
	return text
}

func TestEveryFileRenders(t *testing.T) {
	entries, err := fs.ReadDir(files, "files")
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		assert.NotEmpty(t, render(t, entry.Name()), entry.Name())
	}
}

func TestKubeletAcceptsItsConfiguration(t *testing.T) {
	var kubelet kubeletv1beta1.KubeletConfiguration
	require.NoError(t, yaml.UnmarshalStrict(render(t, "kubelet.yaml"), &kubelet))
	assert.Equal(t, nodeAddress, kubelet.Address)
	assert.Equal(t, "unix:///clusters/example/containerd.sock", kubelet.ContainerRuntimeEndpoint)
	assert.Equal(t, "/clusters/example/pod-logs", kubelet.PodLogsDir)
	assert.False(t, *kubelet.FailCgroupV1)
	assert.False(t, *kubelet.CgroupsPerQOS)
}

func TestAuditPolicyIsKnownToTheAPIServer(t *testing.T) {
	var policy auditv1.Policy
	require.NoError(t, yaml.UnmarshalStrict(render(t, "audit-policy.yaml"), &policy))
	require.Len(t, policy.Rules, 2)
	assert.Equal(t, auditv1.LevelMetadata, policy.Rules[0].Level)
}

func TestPodsReachOnlyTheCluster(t *testing.T) {
	var network struct {
		Plugins []struct {
			IPAM struct {
				DataDir string
				Routes  []struct{ Dst string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(render(t, "cni.conflist"), &network))
	require.Len(t, network.Plugins, 1)
	assert.True(t, within("/clusters/example", network.Plugins[0].IPAM.DataDir))
	require.Len(t, network.Plugins[0].IPAM.Routes, 1)
	assert.Equal(t, clusterCIDR, network.Plugins[0].IPAM.Routes[0].Dst)
}

func TestContainerdKeepsToTheClustersDirectory(t *testing.T) {
	text := string(render(t, "containerd.toml"))
	for _, want := range []string{
		`root = "/clusters/example/containerd/root"`,
		`state = "/clusters/example/containerd/state"`,
		`address = "/clusters/example/containerd.sock"`,
		`sandbox_image = "` + pauseImage + `"`,
		"restrict_oom_score_adj = true",
	} {
		assert.Contains(t, text, want)
	}
}

func TestCheckPaths(t *testing.T) {
	cases := map[string]struct {
		dir     string
		noNode  bool
		problem string
	}{
		"an ordinary directory is accepted":                {dir: "/clusters/example"},
		"a directory too deep for a socket is refused":     {dir: "/" + strings.Repeat("d", 100), problem: "too long for a Unix socket"},
		"a directory that the node hides is refused":       {dir: "/run/clusters/example", problem: "is under /run"},
		"a directory with a blank is refused":              {dir: "/my clusters/example", problem: "has a character"},
		"a sibling of a hidden directory is accepted":      {dir: "/runs/example"},
		"without a node there is no socket":                {dir: "/" + strings.Repeat("d", 100), noNode: true},
		"without a node nothing is hidden":                 {dir: "/run/clusters/example", noNode: true},
		"the sockets of a directory just short enough fit": {dir: "/" + strings.Repeat("d", maxSocketPath-len("/"+"/"+longestSocket))},
		"one character more is refused":                    {dir: "/" + strings.Repeat("d", maxSocketPath-len("/"+longestSocket)), problem: "too long for a Unix socket"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			config := exampleConfig()
			config.Dir, config.Node = test.dir, !test.noNode
			err := config.checkPaths()
			if test.problem == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, test.problem)
			}
		})
	}
}

func TestFindLayout(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	t.Setenv(cacheVariable, "")
	layout, err := FindLayout("")
	require.NoError(t, err)
	assert.Equal(t, Layout{
		Module: filepath.Join(root, "tests", "cluster"),
		Bin:    filepath.Join(root, ".cache", "cluster", "bin"),
		Runs:   filepath.Join(root, ".cache", "cluster", "run"),
	}, layout)

	t.Setenv(cacheVariable, "/shared")
	layout, err = FindLayout("/elsewhere")
	require.NoError(t, err)
	assert.Equal(t, "/shared/cluster/bin", layout.Bin)
	assert.Equal(t, "/elsewhere", layout.Runs)

	t.Chdir(t.TempDir())
	_, err = FindLayout("")
	assert.ErrorContains(t, err, "not inside the repository")
}

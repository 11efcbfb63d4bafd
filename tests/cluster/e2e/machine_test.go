package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

// machine is what a cluster could leave behind.
type machine struct {
	Interfaces []string
	Mounts     []string
	Tables     string            // of nftables
	Groups     []string          // control groups of containers
	Folders    []string          // fixed places where programs of a node keep state
	Settings   map[string]string // kernel settings by path under /proc/sys
	Programs   []process.Record  // processes that work in the cluster's directory
}

// observe looks at the machine. dir is where the clusters of this test are.
func observe(t *testing.T, dir string) machine {
	t.Helper()
	seen := machine{Settings: map[string]string{}}
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range interfaces {
		seen.Interfaces = append(seen.Interfaces, i.Name)
	}
	mounts, err := mountinfo.GetMounts(nil)
	require.NoError(t, err)
	for _, m := range mounts {
		seen.Mounts = append(seen.Mounts, m.Mountpoint)
	}
	if nft, err := exec.LookPath("nft"); err == nil { // a new machine gets it from the first cluster with a node
		tables, err := exec.Command(nft, "list", "tables").CombinedOutput()
		require.NoError(t, err, "%s", tables)
		seen.Tables = string(tables)
	}
	seen.Groups = glob(t, "/sys/fs/cgroup/k8s.io", "/sys/fs/cgroup/*/k8s.io")
	seen.Folders = glob(t, "/var/lib/kubelet/*", "/var/lib/cni/*", "/var/log/containers/*", "/var/log/pods/*", "/run/netns/*", "/run/containerd/*")
	for _, name := range []string{"net/ipv4/ip_forward", "kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom"} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		require.NoError(t, err)
		seen.Settings[name] = string(value)
	}
	seen.Programs, err = process.Find(func(found process.Record) bool { return strings.Contains(strings.Join(found.Argv, " "), dir) })
	require.NoError(t, err)
	return seen
}

func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var found []string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		found = append(found, paths...)
	}
	return found
}

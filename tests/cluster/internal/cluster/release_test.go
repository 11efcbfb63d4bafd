package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryComponentIsFoundByItsCommandLine(t *testing.T) {
	config := exampleConfig()
	count := 0
	for _, spec := range slices.Concat(config.phases()...) {
		argv := spec.Argv
		if at := slices.Index(argv, "--"); at >= 0 { // nsenter replaces itself by what follows
			argv = argv[at+1:]
		}
		assert.True(t, belongs(argv, programs, config.Dir), spec.Name)
		assert.False(t, belongs(argv, programs, "/clusters/exam"), "%s is not another cluster's", spec.Name)
		assert.True(t, within(config.path("logs"), spec.Log), spec.Name)
		count++
	}
	assert.Equal(t, len(programs), count)
}

func TestBelongs(t *testing.T) {
	const dir = "/clusters/example"
	cases := map[string]struct {
		argv  []string
		names []string
		want  bool
	}{
		"a component of the cluster": {argv: []string{"/bins/etcd", "--data-dir=" + dir + "/etcd"}, names: programs, want: true},
		"a component of another":     {argv: []string{"/bins/etcd", "--data-dir=/clusters/other/etcd"}, names: programs},
		"a client of the cluster":    {argv: []string{"kubectl", "--kubeconfig=" + dir + "/kubeconfig"}, names: programs},
		"someone who reads a log":    {argv: []string{"tail", "-f", dir + "/logs/etcd.log"}, names: programs},
		"a shim of the cluster":      {argv: []string{"/usr/bin/" + shim, "-address", dir + "/containerd.sock"}, names: []string{shim}, want: true},
		"a component without any":    {argv: []string{"etcd"}, names: programs},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, belongs(test.argv, test.names, dir))
		})
	}
}

func TestRootedIn(t *testing.T) {
	const container = `100 90 0:50 / / ro,relatime - overlay overlay rw,lowerdir=/x,upperdir=/clusters/example/containerd/root/1/fs,workdir=/y
101 100 0:51 / /proc rw - proc proc rw
`
	const containerd = `20 1 254:0 / / rw,relatime - ext4 /dev/vda rw
100 20 0:50 / /clusters/example/containerd/state/1/rootfs rw - overlay overlay rw,lowerdir=/x,upperdir=/clusters/example/containerd/root/1/fs
`
	assert.True(t, rootedIn(container, "/clusters/example"))
	assert.False(t, rootedIn(container, "/clusters/exam"), "another cluster's container")
	assert.False(t, rootedIn(containerd, "/clusters/example"), "a process that only sees the container's files")
	assert.False(t, rootedIn("", "/clusters/example"), "a process that ended")
}

func TestRemoveEmptyFoldersKeepsWhatIsInUse(t *testing.T) {
	top := filepath.Join(t.TempDir(), "k8s.io")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "empty", "nested"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "used"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, "used", "file"), nil, 0o600))
	require.NoError(t, removeEmptyFolders(top))
	assert.NoDirExists(t, filepath.Join(top, "empty"))
	assert.FileExists(t, filepath.Join(top, "used", "file"))

	require.NoError(t, os.Remove(filepath.Join(top, "used", "file")))
	require.NoError(t, removeEmptyFolders(top))
	assert.NoDirExists(t, top)
	assert.NoError(t, removeEmptyFolders(top), "nothing to do is no error")
}

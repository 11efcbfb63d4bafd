package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

// stopGrace is how long a component may take to end before it is killed.
const stopGrace = 20 * time.Second

// programs are the components, and shim is the parent of a pod's containers. Each names the cluster's directory in its
// arguments.
var programs = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "containerd",
}

const shim = "containerd-shim-runc-v2"

// release stops everything that runs in the cluster's directory and gives the machine back as it was. The state may be
// incomplete, or empty when it was lost; what belongs to the cluster is then found by its directory. Nothing to do is
// no error. Files stay.
func release(ctx context.Context, dir string, state State) error {
	for _, started := range slices.Backward(state.Processes) {
		if err := started.Stop(ctx, stopGrace); err != nil {
			return err
		}
	}
	if err := stopLeftovers(ctx, dir); err != nil {
		return err
	}
	if err := stopContainers(ctx, dir); err != nil {
		return err
	}
	if err := unmountUnder(dir); err != nil {
		return err
	}
	owner, err := nodeOwner()
	if err != nil {
		return err
	}
	if owner == dir {
		if err := releaseNode(ctx); err != nil {
			return err
		}
	}
	return restoreSysctls(state.Sysctls)
}

// stopLeftovers ends the programs of the cluster that no state names, as after a crash. Their data is of no use then.
func stopLeftovers(ctx context.Context, dir string) error {
	left, err := process.Find(func(found process.Record) bool { return belongs(found.Argv, programs, dir) })
	if err != nil {
		return err
	}
	return process.StopAll(ctx, left, 0)
}

// belongs says whether a command line is one of the named programs, told to work in dir. Other programs may well name
// a file of the cluster: its kubeconfig, or a log.
func belongs(argv, names []string, dir string) bool {
	if !slices.Contains(names, filepath.Base(argv[0])) {
		return false
	}
	return slices.ContainsFunc(argv[1:], func(arg string) bool {
		_, value, found := strings.Cut(arg, "=")
		if !found {
			value = arg
		}
		return within(dir, value)
	})
}

// stopContainers ends the containers of the cluster and the shims that watch over them. Neither heeds a request: a
// shim ends at containerd's word, and a test's containers have nothing to lose.
func stopContainers(ctx context.Context, dir string) error {
	inContainer := func(found process.Record) bool {
		mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", found.PID))
		return err == nil && rootedIn(string(mounts), dir) // an error means that it ended
	}
	isShim := func(found process.Record) bool { return belongs(found.Argv, []string{shim}, dir) }
	// A shim may be creating a container just when the others are listed.
	for _, match := range []func(process.Record) bool{inContainer, isShim, inContainer} {
		found, err := process.Find(match)
		if err != nil {
			return err
		}
		if err := process.StopAll(ctx, found, 0); err != nil {
			return err
		}
	}
	return nil
}

// rootedIn says whether the mounts of a process, in the form of proc(5)'s mountinfo, are those of a container whose
// files are in dir. This holds for every process of a container, whatever became of its shim.
func rootedIn(mounts, dir string) bool {
	const mountPoint = 4
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) > mountPoint && fields[mountPoint] == "/" && strings.Contains(line, "upperdir="+dir+"/") {
			return true
		}
	}
	return false
}

// removeEmptyGroups removes the control groups in which containerd keeps containers, as far as they are empty. An
// empty group is of no use to anyone, and the kernel refuses to remove another.
func removeEmptyGroups() error {
	for _, pattern := range []string{"/sys/fs/cgroup/k8s.io", "/sys/fs/cgroup/*/k8s.io"} { // version 2 and version 1
		groups, err := filepath.Glob(pattern)
		if err != nil {
			return fmt.Errorf("finding the control groups of containers: %w", err)
		}
		for _, group := range groups {
			if err := removeEmptyFolders(group); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeEmptyFolders(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("listing %s: %w", top, err)
	}
	for _, folder := range slices.Backward(folders) {
		if err := removeEmpty(folder); err != nil {
			return err
		}
	}
	return nil
}

// unmountUnder unmounts what is mounted in the directory, the newest first.
func unmountUnder(dir string) error {
	mounts, err := mountinfo.GetMounts(func(info *mountinfo.Info) (skip, stop bool) {
		return !within(dir, info.Mountpoint), false
	})
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	for _, mount := range slices.Backward(mounts) {
		if err := syscall.Unmount(mount.Mountpoint, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", mount.Mountpoint, err)
		}
	}
	return nil
}

// releaseNode removes what the one node of a network namespace adds to the machine: control groups, kube-proxy's tables,
// mount points and the bridge. The pods' interfaces went with their network namespaces, and those with the mount
// namespace. The bridge goes last, since it says whose all this is.
func releaseNode(ctx context.Context) error {
	if err := removeEmptyGroups(); err != nil {
		return err
	}
	for _, family := range []string{"ip", "ip6"} {
		// "add" makes "delete" succeed when there is no such table.
		if _, err := run(ctx, "nft", fmt.Sprintf("add table %[1]s kube-proxy; delete table %[1]s kube-proxy", family)); err != nil {
			return err
		}
	}
	for _, folder := range hostFolders {
		if err := removeEmpty(folder); err != nil {
			return err
		}
	}
	_, err := run(ctx, "ip", "link", "delete", bridge)
	return err
}

// removeEmpty removes a directory or control group, unless it is in use or already gone.
func removeEmpty(folder string) error {
	err := os.Remove(folder)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return fmt.Errorf("removing the empty directory: %w", err)
}

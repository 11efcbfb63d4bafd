package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bridge is the interface that holds the node's address. There is one in a network namespace, so it also says, in its
// alias, which cluster has the namespace.
const bridge = "loom0"

// hostFolders are mount points of the node's own folders, see files/node-namespace.sh. Their content on the machine is
// never touched.
var hostFolders = []string{"/var/lib/kubelet", "/var/lib/cni"}

// changedSysctls are the kernel settings that kubelet and the CNI plugins change, by path under /proc/sys.
var changedSysctls = []string{
	"kernel/keys/root_maxbytes",
	"kernel/keys/root_maxkeys",
	"kernel/panic",
	"kernel/panic_on_oops",
	"net/ipv4/ip_forward",
	"vm/overcommit_memory",
	"vm/panic_on_oom",
}

// mountNamespace is the file that keeps the node's mount namespace alive.
func (c Config) mountNamespace() string { return c.path("namespace", "mount") }

// nodeOwner is the directory of the cluster that has the node of this network namespace, or "".
func nodeOwner() (string, error) {
	alias, err := os.ReadFile(filepath.Join("/sys/class/net", bridge, "ifalias"))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading whose interface %s is: %w", bridge, err)
	}
	return strings.TrimSpace(string(alias)), nil
}

// claimNode takes the network namespace for this cluster. It fails when another cluster with a node runs here, and
// clears away one that only left its remains.
func (c Config) claimNode(ctx context.Context) error {
	owner, err := nodeOwner()
	if err != nil {
		return err
	}
	if owner != "" {
		state, found, err := loadState(owner)
		if err != nil {
			return err
		}
		if found && (state.anyAlive() || locked(owner)) {
			return fmt.Errorf("this machine's network namespace already has a node, of cluster %q in %s. "+
				"Stop it with: down --name %s --dir %s, or use --nodes 0",
				state.Config.Name, owner, state.Config.Name, filepath.Dir(owner))
		}
		if err := release(ctx, owner, state); err != nil {
			return fmt.Errorf("clearing what an earlier cluster left: %w", err)
		}
	}
	return runAll(ctx,
		[]string{"ip", "link", "add", bridge, "type", "bridge"}, // fails when another command was faster
		[]string{"ip", "link", "set", bridge, "alias", c.Dir},
		[]string{"ip", "address", "add", c.Address + "/32", "dev", bridge},
		[]string{"ip", "link", "set", bridge, "up"},
		// Otherwise the machine would need a default route to reach Services, and would send there what is for pods that
		// are gone.
		[]string{"ip", "route", "add", clusterCIDR, "dev", bridge, "src", c.Address},
	)
}

// prepareNode writes the files of the node and makes its mount namespace.
func (c Config) prepareNode(ctx context.Context) error {
	err := c.install(map[string]string{
		"containerd.toml":   "containerd.toml",
		"hosts.toml":        "registries/_default/hosts.toml",
		"cni.conflist":      "cni/loom.conflist",
		"kubelet.yaml":      "kubelet.yaml",
		"node-namespace.sh": "node-namespace.sh",
	})
	if err != nil {
		return err
	}
	// Nothing answers there: pods and the kubelet ask no name server of the machine.
	if err := writeFile(c.path("resolv.conf"), []byte("nameserver 127.0.0.1\n")); err != nil {
		return err
	}
	if err := writeFile(c.mountNamespace(), nil); err != nil {
		return err
	}
	folders := append([]string{c.path("var-lib-kubelet"), c.path("var-lib-cni"), c.path("pod-logs")}, hostFolders...)
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("making a folder of the node: %w", err)
		}
	}
	namespaces := filepath.Dir(c.mountNamespace())
	return runAll(ctx,
		// A namespace can be kept only at a mount point that is not shared.
		[]string{"mount", "--bind", namespaces, namespaces},
		[]string{"mount", "--make-private", namespaces},
		[]string{"unshare", "--mount=" + c.mountNamespace(), "--propagation=slave", "sh", c.path("node-namespace.sh"), c.Dir},
	)
}

// readSysctls returns the present values of the settings that a node changes. A setting this kernel lacks is left out.
func readSysctls() (map[string]string, error) {
	values := map[string]string{}
	for _, name := range changedSysctls {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the kernel setting %s: %w", name, err)
		}
		values[name] = strings.TrimSpace(string(value))
	}
	return values, nil
}

// restoreSysctls sets back what differs from values. Writing needs root, so a cluster without a node has none.
func restoreSysctls(values map[string]string) error {
	now, err := readSysctls()
	if err != nil {
		return err
	}
	for name, value := range values {
		if now[name] == value {
			continue
		}
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil {
			return fmt.Errorf("restoring the kernel setting %s: %w", name, err)
		}
	}
	return nil
}

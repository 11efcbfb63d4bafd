package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// requirement is a program that a node needs and the Debian package that has it.
type requirement struct{ program, pkg string }

var requirements = []requirement{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"nft", "nftables"},
	{"conntrack", "conntrack"},
	{"ip", "iproute2"},
}

// pluginFolders are where distributions put the CNI plugins.
var pluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// pluginPackage has the CNI plugins that a node uses: ptp, host-local and loopback.
const pluginPackage = "containernetworking-plugins"

// ensurePackages installs what a node needs and the machine lacks, and returns the directory of the CNI plugins.
func ensurePackages(ctx context.Context, progress io.Writer) (plugins string, err error) {
	missing := missingPackages(exec.LookPath)
	if findPlugins() == "" {
		missing = append(missing, pluginPackage)
	}
	if len(missing) > 0 {
		if err := install(ctx, missing, progress); err != nil {
			return "", err
		}
	}
	if plugins = findPlugins(); plugins == "" {
		return "", fmt.Errorf("the CNI plugin ptp is in none of %s", strings.Join(pluginFolders, ", "))
	}
	return plugins, nil
}

// missingPackages lists, each once, the packages of the programs that look does not find.
func missingPackages(look func(program string) (string, error)) []string {
	var missing []string
	for _, r := range requirements {
		if _, err := look(r.program); err != nil && !slices.Contains(missing, r.pkg) {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

func findPlugins() string {
	for _, folder := range pluginFolders {
		if _, err := os.Stat(filepath.Join(folder, "ptp")); err == nil {
			return folder
		}
	}
	return ""
}

func install(ctx context.Context, packages []string, progress io.Writer) error {
	if _, err := exec.LookPath("apt-get"); errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("a node needs %s, and this machine has no apt-get to install it: install it, or use --nodes 0",
			strings.Join(packages, ", "))
	}
	fmt.Fprintf(progress, "installing Debian packages: %s\n", strings.Join(packages, " "))
	const lockWait = "DPkg::Lock::Timeout=120" // seconds
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-o", lockWait}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("installing %s: apt-get %s: %w:\n%s", strings.Join(packages, ", "), args[0], err, out)
		}
	}
	return nil
}

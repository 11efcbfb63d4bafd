package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Addresses of a cluster with a node. Pods reach clusterCIDR, that is each other, the API server and Services, and
// nothing else.
const (
	clusterCIDR    = "10.244.0.0/14" // the three below
	podCIDR        = "10.244.0.0/24"
	nodeAddress    = "10.245.0.1"
	nodePort       = 6443
	serviceCIDR    = "10.246.0.0/16"
	serviceAddress = "10.246.0.1" // Kubernetes gives the first Service address to its own API server
)

// The image of the pod sandbox, and the user it runs as, of no meaning elsewhere.
const (
	pauseImage = "loom.local/pause:1"
	pauseUser  = "65535:65535"
)

// specialCharacters mean something in the mount options and files that a node's directory is written into.
const specialCharacters = " \t\n\\\"',:="

// maxSocketPath is the longest path of a Unix socket on Linux, see unix(7).
const maxSocketPath = 107

// longestSocket is the longest path of a socket below the cluster's directory. The kubelet makes this one under a
// random 32-bit number before it gives it its name.
const longestSocket = "kubelet/pod-resources/4294967295"

//go:embed files
var files embed.FS

// Config is everything that decides how the programs of a cluster are started. It is kept in the state file, so that
// a restarted component gets the arguments it had.
type Config struct {
	Name              string `json:"name"`
	Dir               string `json:"dir"` // the cluster's own directory
	Bin               string `json:"bin"` // built programs
	Node              bool   `json:"node"`
	ControllerManager bool   `json:"controllerManager"`
	Address           string `json:"address"` // where the API server listens
	Port              int    `json:"port"`
	EtcdPort          int    `json:"etcdPort"` // on loopback, as the next
	EtcdPeerPort      int    `json:"etcdPeerPort"`
	CNIBin            string `json:"cniBin,omitempty"` // directory of CNI plugins; set when Node is
}

// Server is the API server's URL.
func (c Config) Server() string { return fmt.Sprintf("https://%s:%d", c.Address, c.Port) }

// AdminKubeconfig is the file that gives a person all rights.
func (c Config) AdminKubeconfig() string { return c.path("kubeconfig") }

// ContainerdSocket is where containerd of the node listens. It and the three methods below are read by the files of a node.
func (c Config) ContainerdSocket() string { return c.path("containerd.sock") }

// PodCIDR holds the addresses of pods.
func (Config) PodCIDR() string { return podCIDR }

// ClusterCIDR holds the addresses of pods, Services and the API server.
func (Config) ClusterCIDR() string { return clusterCIDR }

// PauseImage is the image of a pod's sandbox.
func (Config) PauseImage() string { return pauseImage }

func (c Config) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

func (c Config) program(name string) string { return filepath.Join(c.Bin, name) }

// checkPaths refuses directories in which the cluster could not work.
func (c Config) checkPaths() error {
	if !c.Node {
		return nil
	}
	if longest := c.path(longestSocket); len(longest) > maxSocketPath {
		return fmt.Errorf("%s is too long for a Unix socket (at most %d characters): choose a shorter directory with --dir",
			longest, maxSocketPath)
	}
	if strings.ContainsAny(c.Dir, specialCharacters) {
		return fmt.Errorf("%q has a character that a node's directory may not have, one of %q: choose another directory with --dir",
			c.Dir, specialCharacters)
	}
	for _, hidden := range []string{"/run", "/var/log", "/var/lib/kubelet", "/var/lib/cni"} {
		if within(hidden, c.Dir) {
			return fmt.Errorf("%s is under %s, which a node replaces by its own: choose another directory with --dir", c.Dir, hidden)
		}
	}
	return nil
}

// render fills one of the embedded files.
func (c Config) render(name string) ([]byte, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(files, "files/"+name)
	if err != nil {
		return nil, fmt.Errorf("reading the template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := parsed.ExecuteTemplate(&out, name, c); err != nil {
		return nil, fmt.Errorf("filling the template %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// install writes embedded files into the cluster's directory; the keys of targets are their names, the values where
// they go.
func (c Config) install(targets map[string]string) error {
	for name, target := range targets {
		text, err := c.render(name)
		if err != nil {
			return err
		}
		if err := writeFile(c.path(target), text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file that only its owner can read, and the directories above it.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

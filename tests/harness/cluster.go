// Package harness gives tests a real Kubernetes and the operator as a process
// that works in it with no more than its own permissions.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
	"github.com/beyond10x/loom-operator/config"
)

// Cluster is a running cluster with the CRD, the permissions and the service
// account of the operator, and without the operator itself.
type Cluster struct {
	// Name is the launcher's name of it.
	Name string
	// Kubeconfig is the path of the administrator's.
	Kubeconfig string
	// Config and Client have the administrator's rights. The client reads past
	// every cache and knows LoomAgents.
	Config *rest.Config
	Client client.WithWatch
	// OperatorConfig is how StartOperator's process reaches the API server: as
	// the service account of config/rbac. A copy of the Cluster with another
	// one sends the operator elsewhere, such as through a proxy.
	OperatorConfig *rest.Config
	// OperatorBinary is the program that StartOperator runs; empty means one
	// that is built from this tree.
	OperatorBinary string

	auditLog string
}

// ControlPlane returns the cluster "test": a control plane without a node,
// brought up when it is not. It stays up for the next test and is shared by
// packages, so each test keeps to a namespace of its own. The administrator of
// the machine takes it down with `go run -C tests/cluster . down --name test`.
func ControlPlane(t testing.TB) *Cluster {
	t.Helper()
	return up(t, "test", 0)
}

// Node returns the cluster "loom", which runs pods, and which `make demo` uses.
func Node(t testing.TB) *Cluster {
	t.Helper()
	return up(t, "loom", 1)
}

func up(t testing.TB, name string, nodes int) *Cluster {
	t.Helper()
	cluster, err := Up(context.Background(), name, nodes)
	require.NoError(t, err)
	return cluster
}

var clusters struct {
	sync.Mutex
	up map[string]*Cluster
}

// Up returns the named cluster with so many nodes, 0 or 1, once brought up and
// prepared in this process. It is for a package that shares an operator, which
// looks after all namespaces, and so needs a control plane of its own.
func Up(ctx context.Context, name string, nodes int) (*Cluster, error) {
	clusters.Lock()
	defer clusters.Unlock()
	if cluster := clusters.up[name]; cluster != nil {
		return cluster, nil
	}
	kubeconfig, err := launch(ctx, "up", "--name", name, "--nodes", strconv.Itoa(nodes))
	if err != nil {
		return nil, err
	}
	cluster, err := connect(name, kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := cluster.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare cluster %q: %w", name, err)
	}
	if clusters.up == nil {
		clusters.up = map[string]*Cluster{}
	}
	clusters.up[name] = cluster
	return cluster, nil
}

// launch runs the launcher of tests/cluster and returns what it printed.
func launch(ctx context.Context, args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "-C", filepath.Join(root, "tests", "cluster"), "."}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// Root is the folder of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "tests", "cluster", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no parent folder has tests/cluster/go.mod")
		}
	}
}

// NewScheme knows Kubernetes' own types and LoomAgents.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func connect(name, kubeconfig string) (*Cluster, error) {
	restConfig, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %q: %w", name, err)
	}
	restConfig.QPS = -1 // Tests write as fast as they can.
	c, err := client.NewWithWatch(restConfig, client.Options{Scheme: NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %q: %w", name, err)
	}
	return &Cluster{
		Name: name, Kubeconfig: kubeconfig, Config: restConfig, Client: c,
		auditLog: filepath.Join(filepath.Dir(kubeconfig), "logs", "audit.log"),
	}, nil
}

// prepare applies what an installation of the operator consists of, except its
// Deployment, and logs in as its service account.
func (c *Cluster) prepare(ctx context.Context) error {
	files := []string{"manager/namespace.yaml"}
	for _, folder := range []string{"crd", "rbac"} {
		entries, err := config.Files.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			files = append(files, folder+"/"+entry.Name())
		}
	}
	for _, file := range files {
		text, err := config.Files.ReadFile(file)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, text); err != nil {
			return fmt.Errorf("apply config/%s: %w", file, err)
		}
	}
	if err := poll(ctx, time.Minute, func(ctx context.Context) error {
		return c.Client.List(ctx, &v1alpha1.LoomAgentList{}, client.Limit(1))
	}); err != nil {
		return fmt.Errorf("wait until LoomAgents are served: %w", err)
	}
	operatorConfig, err := c.LoginAs(ctx, OperatorNamespace, OperatorServiceAccount)
	if err != nil {
		return err
	}
	c.OperatorConfig = operatorConfig
	return nil
}

// Apply applies every object of a YAML text by server-side apply. Files that
// only kustomize reads are passed over.
func (c *Cluster) Apply(ctx context.Context, text []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read YAML: %w", err)
		}
		if len(object.Object) == 0 || object.GetKind() == "Kustomization" {
			continue
		}
		err = c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("harness"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

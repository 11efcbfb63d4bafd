package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

const (
	pollInterval = 200 * time.Millisecond
	// readyTimeout bounds the wait for one component. Most serve within seconds; a busy machine needs longer.
	readyTimeout = 3 * time.Minute
	// attemptTimeout bounds one question to a component.
	attemptTimeout = 5 * time.Second
)

// poll calls try until it returns nil, or limit passed. The error is try's last one, or ctx's when ctx was canceled.
func poll(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, attemptTimeout)
		err := try(attempt)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return context.Cause(ctx)
			}
			return fmt.Errorf("not ready after %s: %w", limit, err)
		case <-time.After(pollInterval):
		}
	}
}

// awaitReady waits until the component that was started after since serves. A component that ended is reported at once;
// either way the error shows the end of its log.
func (c Config) awaitReady(ctx context.Context, started process.Record, since time.Time) error {
	const logLines = 15
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := poll(waiting, readyTimeout, func(ctx context.Context) error {
		if !started.Alive() {
			ended := errors.New("it ended")
			cancel(ended)
			return ended
		}
		return c.probe(ctx, started.Name, since)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w", started.Name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s did not come up: %w\nThe end of its log %s:\n%s", started.Name, err, started.Log, started.LogTail(logLines))
	}
	return nil
}

// probe asks a component for what the rest of the cluster needs of it; nil means that it serves. What a former process
// said before since does not count.
func (c Config) probe(ctx context.Context, component string, since time.Time) error {
	switch component {
	case "etcd":
		return probeHTTP(ctx, fmt.Sprintf("http://127.0.0.1:%d/health", c.EtcdPort))
	case "containerd":
		_, err := c.ctr(ctx, "version")
		return err
	case "kube-apiserver":
		return c.probeAPI(func(client kubernetes.Interface) error {
			return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		})
	case "kube-controller-manager":
		// Pods of a namespace are refused until its default ServiceAccount exists.
		return c.probeAPI(func(client kubernetes.Interface) error {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		})
	case "kubelet":
		return c.probeAPI(func(client kubernetes.Interface) error {
			node, err := client.CoreV1().Nodes().Get(ctx, c.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return nodeReady(node, since)
		})
	case "kube-proxy":
		return probeTCP(ctx, net.JoinHostPort(serviceAddress, "443"))
	default: // kube-scheduler serves nothing: it acts on pods
		return nil
	}
}

func (c Config) probeAPI(ask func(kubernetes.Interface) error) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.AdminKubeconfig())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	return ask(client)
}

// nodeReady is an error that says why the node is not Ready, or nil when it is. A former kubelet's word stays in the API
// after it ended, so only a heartbeat after since counts; heartbeats have whole seconds.
func nodeReady(node *corev1.Node, since time.Time) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if !condition.LastHeartbeatTime.After(since.Truncate(time.Second)) {
			return fmt.Errorf("node %s was last heard of before its kubelet started", node.Name)
		}
		if condition.Status == corev1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("node %s is not Ready: %s: %s", node.Name, condition.Reason, condition.Message)
	}
	return fmt.Errorf("node %s does not say yet whether it is Ready", node.Name)
}

func probeHTTP(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}

func probeTCP(ctx context.Context, address string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

package cluster

import (
	"fmt"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/process"
)

// phases are the components in the order they start. Those of one phase start together, and the next phase begins
// when all of them serve.
func (c Config) phases() [][]process.Spec {
	phases := [][]process.Spec{{c.etcd()}, {c.apiServer()}, nil}
	last := len(phases) - 1
	if c.ControllerManager {
		phases[last] = append(phases[last], c.controllerManager())
	}
	if c.Node {
		phases[0] = append(phases[0], c.containerd())
		phases[last] = append(phases[last], c.scheduler(), c.kubelet(), c.kubeProxy())
	}
	return phases
}

func (c Config) spec(name string, argv ...string) process.Spec {
	return process.Spec{Name: name, Argv: argv, Log: c.path("logs", name+".log")}
}

func (c Config) etcd() process.Spec {
	client := fmt.Sprintf("http://127.0.0.1:%d", c.EtcdPort)
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.EtcdPeerPort)
	return c.spec("etcd", c.program("etcd"),
		"--name="+c.Name,
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+c.Name+"="+peer,
		// Data need not survive a crash of the machine, and disks are slow.
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
}

func (c Config) apiServer() process.Spec {
	args := []string{c.program("kube-apiserver"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.EtcdPort),
		"--bind-address=" + c.Address,
		"--advertise-address=" + c.Address,
		fmt.Sprintf("--secure-port=%d", c.Port),
		"--tls-cert-file=" + c.path("pki", "apiserver.crt"),
		"--tls-private-key-file=" + c.path("pki", "apiserver.key"),
		"--client-ca-file=" + c.path("pki", "ca.crt"),
		"--authorization-mode=Node,RBAC",
		// OpenShift turns the first one on: an operator needs the right to update finalizers of the owners it names.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement,NodeRestriction",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("pki", "service-account.key"),
		"--service-account-signing-key-file=" + c.path("pki", "service-account.key"),
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.path("logs", "audit.log"),
		"--audit-log-maxsize=100", // MiB
		"--audit-log-maxbackup=2",
		// Otherwise open watches hold up a stop for a minute.
		"--shutdown-watch-termination-grace-period=1s",
	}
	if c.Node {
		args = append(args,
			"--kubelet-certificate-authority="+c.path("pki", "ca.crt"),
			"--kubelet-client-certificate="+c.path("pki", "apiserver-kubelet-client.crt"),
			"--kubelet-client-key="+c.path("pki", "apiserver-kubelet-client.key"),
			// The node's name is in no DNS.
			"--kubelet-preferred-address-types=InternalIP",
		)
	} else {
		// A loopback address may not be an endpoint of the Service "kubernetes", and no pod would use it.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	return c.spec("kube-apiserver", args...)
}

func (c Config) controllerManager() process.Spec {
	return c.spec("kube-controller-manager", c.program("kube-controller-manager"),
		"--kubeconfig="+c.path("kube-controller-manager.kubeconfig"),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.path("pki", "service-account.key"),
		"--root-ca-file="+c.path("pki", "ca.crt"),
		"--leader-elect=false",
		"--secure-port=0",
		// The defaults, 20 and 30, hold back tests that create many objects at once.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (c Config) scheduler() process.Spec {
	return c.spec("kube-scheduler", c.program("kube-scheduler"),
		"--kubeconfig="+c.path("kube-scheduler.kubeconfig"),
		"--leader-elect=false",
		"--secure-port=0",
	)
}

func (c Config) containerd() process.Spec {
	return c.inNode("containerd", "containerd", "--config="+c.path("containerd.toml"))
}

func (c Config) kubelet() process.Spec {
	return c.inNode("kubelet", c.program("kubelet"),
		"--config="+c.path("kubelet.yaml"),
		"--kubeconfig="+c.path("kubelet.kubeconfig"),
		"--root-dir="+c.path("kubelet"),
		"--cert-dir="+c.path("pki"),
		"--hostname-override="+c.Name,
		"--node-ip="+c.Address,
	)
}

// inNode starts a program in the node's mount namespace. nsenter replaces itself by the program, so the process is
// the program's.
func (c Config) inNode(name string, argv ...string) process.Spec {
	enter := []string{"/usr/bin/nsenter", "--mount=" + c.mountNamespace(), "--"}
	return c.spec(name, append(enter, argv...)...)
}

func (c Config) kubeProxy() process.Spec {
	return c.spec("kube-proxy", c.program("kube-proxy"),
		"--kubeconfig="+c.path("kube-proxy.kubeconfig"),
		"--proxy-mode=nftables",
		"--cluster-cidr="+podCIDR,
		"--hostname-override="+c.Name,
		"--bind-address="+c.Address,
		"--healthz-bind-address="+c.Address+":10256",
		"--metrics-bind-address="+c.Address+":10249",
		"--oom-score-adj=0",
		// Zero leaves the machine's own limits and time-outs alone.
		"--conntrack-max-per-core=0",
		"--conntrack-min=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
	)
}

package cluster

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/beyond10x/loom-operator/tests/cluster/internal/pki"
)

// writeCredentials makes a new authority and writes every key, certificate and kubeconfig of the cluster.
func (c Config) writeCredentials(now time.Time) error {
	authority, err := pki.NewAuthority("loom cluster "+c.Name, now)
	if err != nil {
		return err
	}
	if err := writeFile(c.path("pki", "ca.crt"), authority.Certificate()); err != nil {
		return err
	}
	tokens, err := pki.NewKey()
	if err != nil {
		return err
	}
	if err := writeFile(c.path("pki", "service-account.key"), tokens); err != nil {
		return err
	}
	for name, subject := range c.certificates() {
		pair, err := authority.Issue(subject, now)
		if err != nil {
			return err
		}
		if err := c.writePair(name, pair); err != nil {
			return err
		}
	}
	for file, subject := range c.users() {
		pair, err := authority.Issue(subject, now)
		if err != nil {
			return err
		}
		if err := c.writeKubeconfig(file, subject.User, authority.Certificate(), pair); err != nil {
			return err
		}
	}
	return nil
}

// certificates are those kept as files, by file name.
func (c Config) certificates() map[string]pki.Subject {
	return map[string]pki.Subject{
		"apiserver": {User: "kube-apiserver", Hosts: []string{
			c.Address, "127.0.0.1", serviceAddress, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		"apiserver-kubelet-client": {User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		"kubelet-server":           {User: "system:node:" + c.Name, Groups: []string{"system:nodes"}, Hosts: []string{c.Address, c.Name}},
	}
}

// users are the identities with a kubeconfig, by its file name in the cluster's directory. Their roles come with the
// API server, see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#core-component-roles.
func (c Config) users() map[string]pki.Subject {
	return map[string]pki.Subject{
		"kubeconfig":                         {User: "admin", Groups: []string{"system:masters"}},
		"kube-controller-manager.kubeconfig": {User: "system:kube-controller-manager"},
		"kube-scheduler.kubeconfig":          {User: "system:kube-scheduler"},
		"kubelet.kubeconfig":                 {User: "system:node:" + c.Name, Groups: []string{"system:nodes"}},
		"kube-proxy.kubeconfig":              {User: "system:kube-proxy"},
	}
}

func (c Config) writePair(name string, pair pki.Pair) error {
	if err := writeFile(c.path("pki", name+".crt"), pair.Certificate); err != nil {
		return err
	}
	return writeFile(c.path("pki", name+".key"), pair.Key)
}

func (c Config) writeKubeconfig(file, user string, authority []byte, pair pki.Pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: authority}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig of %s: %w", user, err)
	}
	return writeFile(c.path(file), text)
}

package harness

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The operator's identity, as config/rbac has it.
const (
	OperatorNamespace      = "loom-operator-system"
	OperatorServiceAccount = "loom-operator"
)

// tokenSeconds is longer than any test runs.
const tokenSeconds = 6 * 60 * 60

// LoginAs returns how a client reaches the API server as a service account.
func (c *Cluster) LoginAs(ctx context.Context, namespace, serviceAccount string) (*rest.Config, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
	if err := c.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("log in as service account %s/%s: %w", namespace, serviceAccount, err)
	}
	login := rest.AnonymousClientConfig(c.Config)
	login.BearerToken = request.Status.Token
	return login, nil
}

// UserOf is the name that the API server gives to a service account.
func UserOf(namespace, serviceAccount string) string {
	return "system:serviceaccount:" + namespace + ":" + serviceAccount
}

// OperatorUser is the name under which the operator writes.
func OperatorUser() string { return UserOf(OperatorNamespace, OperatorServiceAccount) }

// writeKubeconfig writes a login as a file that programs read.
func writeKubeconfig(path string, login *rest.Config) error {
	const name = "operator"
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   login.Host,
			CertificateAuthority:     login.CAFile,
			CertificateAuthorityData: login.CAData,
			InsecureSkipTLSVerify:    login.Insecure,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: login.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

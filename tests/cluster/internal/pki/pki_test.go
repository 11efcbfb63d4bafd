package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIssuedCertificatesAreTrustedForTheirHostsAndUsers(t *testing.T) {
	now := time.Now()
	authority, err := NewAuthority("test", now)
	require.NoError(t, err)
	pair, err := authority.Issue(Subject{User: "system:node:one", Groups: []string{"system:nodes"}, Hosts: []string{"10.0.0.1", "node.example"}}, now)
	require.NoError(t, err)

	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority.Certificate()))
	for _, host := range []string{"10.0.0.1", "node.example"} {
		_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now})
		assert.NoError(t, err, host)
	}
	_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.example", CurrentTime: now})
	assert.Error(t, err)
	assert.Equal(t, "system:node:one", loaded.Leaf.Subject.CommonName)
	assert.Equal(t, []string{"system:nodes"}, loaded.Leaf.Subject.Organization)

	_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	assert.NoError(t, err)
}

func TestAnotherAuthoritysCertificateIsNotTrusted(t *testing.T) {
	now := time.Now()
	one, err := NewAuthority("same name", now)
	require.NoError(t, err)
	other, err := NewAuthority("same name", now)
	require.NoError(t, err)
	pair, err := other.Issue(Subject{User: "admin"}, now)
	require.NoError(t, err)
	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(one.Certificate()))
	_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	assert.Error(t, err)
}

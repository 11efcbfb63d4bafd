// Command probe is what the containers of the end-to-end test run: "exit CODE" ends with the code, "serve" answers
// every HTTP request on port 8080, "get URL" prints what a server answers, and "whoami" prints as whom the API server
// knows the pod.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// credentials is where Kubernetes puts a pod's token and the API server's authority.
const credentials = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "probe: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "exit":
		code, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		fmt.Printf("user %d ends with %d\n", os.Getuid(), code)
		os.Exit(code)
		return nil
	case len(args) == 1 && args[0] == "serve":
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "served")
		}))
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	case len(args) == 1 && args[0] == "whoami":
		return whoami()
	default:
		return fmt.Errorf("unknown arguments %q", args)
	}
}

func get(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

// whoami creates a SelfSubjectReview, as a client in a pod does.
func whoami() error {
	token, err := os.ReadFile(credentials + "token")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(credentials + "ca.crt")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	review := []byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`)
	request, err := http.NewRequest(http.MethodPost, "https://"+server+"/apis/authentication.k8s.io/v1/selfsubjectreviews", bytes.NewReader(review))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

package main

import (
	"fmt"
	"net/http"
	"strings"
)

// Request is one request of the operator, named so that it is the same request
// in every replay of a life: requests that have nothing to do with each other
// may come in any order, those of one kind do not.
type Request struct {
	// Step of the life in which it was sent.
	Step string
	// Verb of the API: get, list, watch, create, update, patch, delete, or
	// discover for what is no resource.
	Verb string
	// Resource in the plural, with the subresource after a slash.
	Resource string
	// N counts the requests of the same step, verb and resource from 1.
	N int
}

// String is how tables and messages show the request.
func (r Request) String() string {
	return fmt.Sprintf("%s: %s %s #%d", r.Step, r.Verb, r.Resource, r.N)
}

// Write tells whether the request changes something.
func (r Request) Write() bool {
	switch r.Verb {
	case "get", "list", "watch", "discover":
		return false
	default:
		return true
	}
}

// target is what a request of the Kubernetes API is about.
type target struct{ verb, resource, name string }

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// targetOf reads method and URL as the API server does
// (https://kubernetes.io/docs/reference/using-api/api-concepts).
func targetOf(r *http.Request) target {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return target{verb: "discover", resource: "apis"}
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	about := target{verb: verbs[r.Method], resource: parts[0]}
	if len(parts) > 1 {
		about.name = parts[1]
	}
	if len(parts) > 2 {
		about.resource += "/" + parts[2]
	}
	switch {
	case about.verb != "":
	case r.URL.Query().Get("watch") == "true":
		about.verb = "watch"
	case about.name == "":
		about.verb = "list"
	default:
		about.verb = "get"
	}
	return about
}

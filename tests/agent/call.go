package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const callTimeout = 10 * time.Second

// called is how an upstream answered, or why it did not.
type called struct {
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// call asks each upstream of the boundary once, with its own token, and prints
// one line of JSON. An upstream that refuses is an answer and not a failure.
func (p process) call(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 {
		return 0, failure{exitUsage, fmt.Errorf("call takes no arguments, not %q\n%s", args[0], usage)}
	}
	text, err := os.ReadFile(filepath.Join(cmp.Or(p.getenv("LOOM_CONFIG_DIR"), defaultConfigDir), "boundary.json"))
	if err != nil {
		return 0, failure{exitConfig, fmt.Errorf("reading the boundary: %w", err)}
	}
	var boundary map[string]upstream
	if err := json.Unmarshal(text, &boundary); err != nil {
		return 0, failure{exitConfig, fmt.Errorf("the boundary is not as the runtime contract says: %w", err)}
	}
	answers := map[string]called{}
	for name, upstream := range boundary {
		status, err := upstream.get(ctx)
		answers[name] = called{Status: status}
		if err != nil {
			answers[name] = called{Error: err.Error()}
		}
	}
	if err := json.NewEncoder(p.stdout).Encode(answers); err != nil {
		return 0, fmt.Errorf("printing the answers: %w", err)
	}
	return 0, nil
}

// upstream is what the boundary tells of one.
type upstream struct {
	URL       string `json:"upstream"`
	TokenFile string `json:"tokenFile"`
}

// get reads the token anew for each connection, since the kubelet replaces it.
func (u upstream) get(ctx context.Context) (int, error) {
	token, err := os.ReadFile(u.TokenFile)
	if err != nil {
		return 0, fmt.Errorf("reading the token: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.URL, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

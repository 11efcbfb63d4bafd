package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// audit follows who writes what, agent by agent, in the audit log of the API
// server.
type audit struct {
	namespace string

	mu     sync.Mutex
	tries  map[string]int       // requests of the operator, by agent
	writes map[string]int       // those of them that took effect
	last   map[string]string    // the operator's last one, for a report
	busy   map[string]time.Time // when anybody's last one was seen
}

// nameLength is the length of every agent's name. Names of children begin with
// that of their agent.
const nameLength = len("twin-00000")

// follow reads the log from its present end until the context is done.
func follow(ctx context.Context, cluster *harness.Cluster, namespace string) (*audit, error) {
	file, err := os.Open(filepath.Join(filepath.Dir(cluster.Kubeconfig), "logs", "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("follow the audit log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("follow the audit log: %w", err), file.Close())
	}
	a := &audit{namespace: namespace, tries: map[string]int{}, writes: map[string]int{}, last: map[string]string{}, busy: map[string]time.Time{}}
	go func() {
		defer file.Close()
		a.read(ctx, bufio.NewReaderSize(file, 1<<20))
	}()
	return a, nil
}

func (a *audit) read(ctx context.Context, log *bufio.Reader) {
	var line strings.Builder
	for {
		part, err := log.ReadString('\n')
		line.WriteString(part)
		if err == nil {
			a.saw([]byte(line.String()))
			line.Reset()
			continue
		}
		if !pause(ctx) {
			return
		}
	}
}

func (a *audit) saw(line []byte) {
	var event struct {
		Verb string `json:"verb"`
		User struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			Resource, Subresource, Namespace, Name string
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
	}
	if json.Unmarshal(line, &event) != nil || event.ObjectRef.Namespace != a.namespace || len(event.ObjectRef.Name) < nameLength {
		return
	}
	object := event.ObjectRef
	agent := object.Name[:nameLength]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy[agent] = time.Now()
	if event.User.Username != harness.OperatorUser() {
		return
	}
	a.tries[agent]++
	if event.ResponseStatus.Code < http.StatusBadRequest {
		a.writes[agent]++
		a.last[agent] = strings.TrimSuffix(object.Resource+"/"+object.Subresource, "/") + " " + object.Name + " (" + event.Verb + ")"
	}
}

// tried is how many writes for an agent the operator has asked for.
func (a *audit) tried(agent string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tries[agent]
}

// written is how many of them took effect, and which did last. A child that the
// API server refuses is tried again whenever the agent is looked at.
func (a *audit) written(agent string) (times int, last string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes[agent], a.last[agent]
}

// quiet is for how long, since a time, nobody has written for an agent: neither
// the operator nor the controllers that it waits for.
func (a *audit) quiet(agent string, since time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if busy := a.busy[agent]; busy.After(since) {
		since = busy
	}
	return time.Since(since)
}

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// nodeAddress is where pods of the node reach programs of this machine
// (tests/cluster/README.md).
const nodeAddress = "10.245.0.1"

// Start is what a program of the sample agent writes when it starts
// (tests/agent/README.md).
type Start struct {
	Agent, Namespace, Pod string
	// Path of the URL that it was given, to tell programs apart.
	Path string `json:"-"`
}

// Ledger is where programs in pods write that they start. Each is given URL,
// and a path of its own if need be, in the environment variable LEDGER_URL.
type Ledger struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	starts []Start
}

// ServeLedger serves a ledger to the pods of a node. Whoever calls it calls
// Close.
func ServeLedger(ctx context.Context) (*Ledger, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", nodeAddress+":0")
	if err != nil {
		return nil, fmt.Errorf("serve a ledger to the pods of the node: %w", err)
	}
	l := &Ledger{URL: "http://" + listener.Addr().String()}
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
	go func() { _ = l.server.Serve(listener) }() // It always ends with ErrServerClosed.
	return l, nil
}

// Close stops serving.
func (l *Ledger) Close() error { return l.server.Close() }

// Starts lists them, in the order they came.
func (l *Ledger) Starts() []Start {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.starts)
}

// ServeHTTP takes one line. A program whose line is refused does not start.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := Start{Path: r.URL.Path}
	if err := json.NewDecoder(r.Body).Decode(&start); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts = append(l.starts, start)
}

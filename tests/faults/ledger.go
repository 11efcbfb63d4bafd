package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ledger is what the programs themselves know: each start, and how it ended.
// It is kept by document, which a life never gives to two generations.
type ledger struct {
	mu     sync.Mutex
	starts map[string][]types.UID // of pods
	ends   map[string]end         // the last one
}

// end is how a program ended.
type end struct {
	code   int32
	reason string
	at     time.Time
}

func (e end) String() string {
	return fmt.Sprintf("exit code %d (%s) at %s", e.code, e.reason, e.at.UTC().Format(time.RFC3339))
}

func newLedger() *ledger { return &ledger{starts: map[string][]types.UID{}, ends: map[string]end{}} }

// start notes that a pod starts the program. It is false for a pod that is
// known.
func (l *ledger) start(document string, pod types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.starts[document], pod) {
		return false
	}
	l.starts[document] = append(l.starts[document], pod)
	return true
}

func (l *ledger) end(document string, e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[document] = e
}

func (l *ledger) endOf(document string) (end, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.ends[document]
	return e, ok
}

func (l *ledger) startsOf(document string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.starts[document])
}

// documents lists those that were started.
func (l *ledger) documents() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.starts))
}

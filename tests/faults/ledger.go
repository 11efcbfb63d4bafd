package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// ledger is what the programs themselves know: each start, and how it ended.
// It is kept by document, which a life never gives to two generations.
type ledger struct {
	mu     sync.Mutex
	starts map[string][]string // the pods
	ends   map[string]end      // the last one
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

func newLedger() *ledger { return &ledger{starts: map[string][]string{}, ends: map[string]end{}} }

// start notes that a pod starts the program. It is false for a pod that is
// known.
func (l *ledger) start(document, pod string) bool {
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

// startsOf lists the pods that started a document.
func (l *ledger) startsOf(document string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.starts[document])
}

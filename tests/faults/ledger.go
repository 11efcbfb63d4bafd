package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// ledger is what the programs themselves know: each start, and how it ended.
// It is kept by document, which a life never gives to two generations.
type ledger interface {
	// startsOf lists the pods that started a document.
	startsOf(document string) []string
	// endOf is how its program ended last.
	endOf(document string) (end, bool)
}

// book is a ledger in memory.
type book struct {
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

func newBook() *book { return &book{starts: map[string][]string{}, ends: map[string]end{}} }

// start notes that a pod starts the program. It is false for a pod that is
// known.
func (b *book) start(document, pod string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.starts[document], pod) {
		return false
	}
	b.starts[document] = append(b.starts[document], pod)
	return true
}

func (b *book) end(document string, e end) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends[document] = e
}

func (b *book) endOf(document string) (end, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.ends[document]
	return e, ok
}

func (b *book) startsOf(document string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.starts[document])
}

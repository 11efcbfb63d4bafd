package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// record is what is kept of one life.
type record struct {
	// Key tells the life apart from every other.
	Key string
	// Life is the variant, Fault what went wrong, and At where.
	Life, Fault, At  string
	Requests, Faults int
	Violations       []string
	Slowest          time.Duration
	// Operator is the digest of the program that lived it.
	Operator string
}

// recordOf sums up a life. A life that could not be lived is a violation, so
// that a long run goes on and does not hide it.
func recordOf(r result, err error) record {
	kept := record{Requests: len(r.requests), Faults: len(r.injected), Violations: r.violations, Slowest: r.slowest}
	if err != nil {
		kept.Violations = append(kept.Violations, fmt.Sprintf("the life could not be lived: %v", err))
	}
	return kept
}

// records are kept in a file, so that a long run can be made in parts. The
// zero value keeps none.
type records struct {
	operator string
	mu       sync.Mutex
	file     *os.File
	lived    map[string]record
}

// openRecords reads what the operator's program has lived so far. An empty
// path keeps nothing.
func openRecords(path, binary string) (*records, error) {
	r := &records{lived: map[string]record{}}
	if path == "" {
		return r, nil
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the operator: %w", err)
	}
	digest := sha256.Sum256(program)
	r.operator = hex.EncodeToString(digest[:])
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the lives so far: %w", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var one record
		// A line that was cut short is a life that has to be lived again.
		if json.Unmarshal(lines.Bytes(), &one) == nil && one.Operator == r.operator {
			r.lived[one.Key] = one
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("keep the lives: %w", err)
	}
	if r.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("keep the lives: %w", err)
	}
	return r, nil
}

// once lives a life unless it is kept already.
func (r *records) once(ctx context.Context, key string, live func() record) (record, error) {
	r.mu.Lock()
	kept, ok := r.lived[key]
	r.mu.Unlock()
	if ok {
		return kept, nil
	}
	kept = live()
	if ctx.Err() != nil {
		return record{}, ctx.Err() // It was cut short.
	}
	kept.Key = key
	return kept, r.keep(kept)
}

func (r *records) keep(one record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	one.Operator = r.operator
	line, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("keep a life: %w", err)
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keep a life: %w", err)
	}
	return nil
}

func (r *records) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

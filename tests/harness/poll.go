package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// interval is the time between two looks.
const interval = 50 * time.Millisecond

// Eventually calls look until it returns nil, and fails the test with look's
// last error when that takes longer than the timeout.
func Eventually(t testing.TB, timeout time.Duration, what string, look func(ctx context.Context) error) {
	t.Helper()
	if err := poll(t.Context(), timeout, look); err != nil {
		t.Fatalf("not within %s: %s: %v", timeout, what, err)
	}
}

// Always calls look for the whole window, and fails the test with its first
// error.
func Always(t testing.TB, window time.Duration, what string, look func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), window)
	defer cancel()
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil {
			t.Fatalf("no longer so: %s: %v", what, err)
		}
		if !pause(ctx) {
			return
		}
	}
}

func poll(ctx context.Context, timeout time.Duration, look func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for {
		err := look(ctx)
		if err == nil {
			return nil
		}
		// A look that the deadline cut short tells nothing new.
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		if !pause(ctx) {
			return fmt.Errorf("%w", last)
		}
	}
}

// pause waits for the next look. It is false when there is none.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(interval):
		return true
	}
}

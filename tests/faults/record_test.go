package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run that was interrupted goes on with the lives that it has not lived, and
// another operator lives all of them.
func TestKeptLivesAreNotLivedAgain(t *testing.T) {
	dir := t.TempDir()
	file, operator, other := filepath.Join(dir, "kept", "lives.jsonl"), filepath.Join(dir, "operator"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(operator, []byte("one"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("two"), 0o600))
	lived := 0
	live := func(ctx context.Context, binary, key string) (record, error) {
		r, err := openRecords(file, binary)
		require.NoError(t, err)
		one, err := r.once(ctx, key, func() record {
			lived++
			return record{Life: "Command", Violations: []string{"a"}, Slowest: time.Second}
		})
		require.NoError(t, r.close())
		return one, err
	}

	first, err := live(t.Context(), operator, "a")
	require.NoError(t, err)
	again, err := live(t.Context(), operator, "a")
	require.NoError(t, err)
	assert.Equal(t, 1, lived)
	first.Operator = again.Operator
	assert.Equal(t, first, again)

	cut, stop := context.WithCancel(t.Context())
	stop()
	_, err = live(cut, operator, "b")
	require.ErrorIs(t, err, context.Canceled)
	_, err = live(t.Context(), operator, "b")
	require.NoError(t, err)
	_, err = live(t.Context(), other, "a")
	require.NoError(t, err)
	assert.Equal(t, 4, lived)
}

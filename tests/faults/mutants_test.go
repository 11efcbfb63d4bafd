package main

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mistake that cannot be made any more, because the code around it was
// edited, would prove nothing.
func TestMistakesCanBeMade(t *testing.T) {
	changes := maps.Clone(clocks())
	for _, m := range mutants() {
		changes[m.name] = m.change
	}
	for name, c := range changes {
		if c.file == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			require.NoError(t, compile(t.Context(), filepath.Join(t.TempDir(), "changed"), "./"+filepath.Dir(c.file), c))
		})
	}
}

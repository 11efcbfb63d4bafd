package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConditionsPageIsUpToDate(t *testing.T) {
	want, err := page("../..")
	require.NoError(t, err)
	have, err := os.ReadFile("../conditions.md")
	require.NoError(t, err)
	assert.Equal(t, want, string(have), "run make generate")
}

func TestEveryReasonIsListed(t *testing.T) {
	text, err := page("../..")
	require.NoError(t, err)
	for _, reason := range []string{"CreateOutcomeUnknown", "RunLost", "Refused", "ImagePullFailed"} {
		assert.Contains(t, text, "| `"+reason+"` |")
	}
}

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDocumentIsWhatTheTablePrints(t *testing.T) {
	document, err := os.ReadFile("../../../docs/lifecycle.md")
	require.NoError(t, err)
	assert.Equal(t, render(), string(document), "docs/lifecycle.md is out of date: run make generate")
}

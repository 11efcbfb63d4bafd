package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// It fails when a case has no test, too.
func TestPageIsUpToDate(t *testing.T) {
	want, err := render(root)
	require.NoError(t, err)
	have, err := os.ReadFile(document(root))
	require.NoError(t, err)
	assert.Equal(t, want, string(have), "run make generate")
}

func TestEveryCaseIsListed(t *testing.T) {
	all, err := entries()
	require.NoError(t, err)
	for n := 1; n <= 67; n++ {
		assert.NotEmpty(t, all[fmt.Sprintf("A%02d", n)].Title, "A%02d", n)
	}
	assert.Len(t, all, 67)
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	write("tests/e2e/a_test.go", `package a
// A02 and case A03.
func TestA01Name(t *testing.T) {
	// A09 is only mentioned here.
	_ = map[string]int{"A04 a key": 1, "not A09": 2}
}
func helper() { _ = "A09 no test" }
func (x T) TestA09Method() {}
func TestA1Short(t *testing.T) {}
`)
	write(".cache/b_test.go", "package b\nfunc TestA09Hidden(t *testing.T) {}\n")
	write("c.go", "package c\nfunc TestA09NoTestFile() {}\n")

	found, err := scan(dir)

	require.NoError(t, err)
	want := []test{{"tests/e2e", "TestA01Name"}}
	assert.Equal(t, map[string][]test{"A01": want, "A02": want, "A03": want, "A04": want}, found)
}

func TestPage(t *testing.T) {
	all := map[string]entry{"A01": {Title: "One"}, "A02": {Title: "Two", Rule: "So it is."}}
	tests := map[string][]test{
		"A01": {{"tests/e2e", "TestZ"}, {"internal/check", "TestB"}, {"internal/check", "TestA"}},
		"A02": {{"tests/controllers", "TestC"}},
	}

	text, err := page(all, tests)

	require.NoError(t, err)
	assert.Contains(t, text, "| A01 | One | unit: `TestA`, `TestB` in internal/check<br>real node: `TestZ` in tests/e2e |\n| A02 | Two | API server: `TestC` in tests/controllers |\n")
	assert.Contains(t, text, "| A02 | So it is. |\n")
	assert.NotContains(t, text, "| A01 | So")
}

func TestPageWantsATestForEachCase(t *testing.T) {
	all := map[string]entry{"A01": {Title: "One"}, "A02": {Title: "Two"}, "A03": {Title: "Three"}}
	_, err := page(all, map[string][]test{"A02": {{"a", "TestX"}}})
	assert.EqualError(t, err, "no test carries the number of A01, A03")

	_, err = page(map[string]entry{}, map[string][]test{"A68": {{"a", "TestX"}}})
	assert.ErrorContains(t, err, "A68 is not listed")
}

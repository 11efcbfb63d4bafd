package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheNamedTestRuns(t *testing.T) {
	status := test(t.Context(), []string{"loom-images-pinned"}, "../bundle")
	require.Len(t, status.Results, 1)
	assert.Equal(t, v1alpha3.PassState, status.Results[0].State)
}

func TestWithoutANameTheTestsAreListed(t *testing.T) {
	status := test(t.Context(), nil, "../bundle")
	require.Len(t, status.Results, 1)
	assert.Contains(t, status.Results[0].Errors[0], "There are: ")
}

// Standard output and standard error are one log in a pod.
func TestTheLogIsTheResultAndNothingElse(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "loom-scorecard")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)

	log, err := exec.CommandContext(t.Context(), binary, "loom-no-warnings").CombinedOutput()

	require.NoError(t, err)
	var status v1alpha3.TestStatus
	require.NoError(t, json.Unmarshal(log, &status), "%s", log)
	require.Len(t, status.Results, 1)
	assert.Equal(t, v1alpha3.FailState, status.Results[0].State, "no bundle is mounted here")
}

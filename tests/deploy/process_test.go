package deploy

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunReturnsWhatWasPrinted(t *testing.T) {
	dir := t.TempDir()
	printed, err := run(t.Context(), process{dir: dir, env: []string{"WORD=x"}, stdin: strings.NewReader("in\n")}, "sh", "-c", "cat; pwd; echo $WORD; echo no >&2")
	require.NoError(t, err)
	assert.Equal(t, "in\n"+dir+"\nx\n", printed)
}

func TestFailureHasTheCommandAndItsMessages(t *testing.T) {
	_, err := run(t.Context(), process{}, "sh", "-c", "echo why >&2; exit 3")
	assert.EqualError(t, err, "sh -c echo why >&2; exit 3: exit status 3:\nwhy")
}

func TestMessagesGoWhereTheyAreWanted(t *testing.T) {
	var messages bytes.Buffer
	_, err := run(t.Context(), process{stderr: &messages}, "sh", "-c", "echo why >&2; exit 3")
	assert.EqualError(t, err, "sh -c echo why >&2; exit 3: exit status 3")
	assert.Equal(t, "why\n", messages.String())
}

func TestProgramIsInterruptedWithItsReason(t *testing.T) {
	reason := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, reason)
	defer cancel()
	_, err := run(ctx, process{}, "sleep", "60")
	assert.ErrorIs(t, err, reason)
}

func TestExistingClusterNeedsAKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	_, err := Existing(t.Context(), t.TempDir(), nil)
	assert.ErrorContains(t, err, "KUBECONFIG is empty")
}

package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSectionIsReplacedBetweenItsMarks(t *testing.T) {
	const document = "# Title\n<!-- begin sweep -->\nold\n<!-- end sweep -->\nrest\n"
	changed, err := replaceSection([]byte(document), "sweep", []byte("$1 new\n"))
	require.NoError(t, err)
	assert.Equal(t, "# Title\n<!-- begin sweep -->\n$1 new\n<!-- end sweep -->\nrest\n", string(changed))
	_, err = replaceSection([]byte(document), "storm", nil)
	assert.Error(t, err)
}

package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rules look for a zone first, so that only this test reaches the parser
// with one.
func TestA34TheParserItselfNeverPanics(t *testing.T) {
	for _, text := range []string{"TZ=0", "TZ=", "CRON_TZ=", "CRON_TZ=Europe/Berlin", "TZ=UTC\t0 9 * * *"} {
		assert.NotPanics(t, func() { assert.Nil(t, parseCron(text)) }, text)
	}
	assert.NotNil(t, parseCron("0 9 * * *"))
}

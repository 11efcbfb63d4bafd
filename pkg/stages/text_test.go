package stages

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func FuzzTextsAreAcceptable(f *testing.F) {
	f.Add("世界", 8)
	f.Add("ImagePullBackOff", 1024)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = len(cutMark) + (limit&0xfff+0x1000)%0x1000
		short := cut(text, limit)
		assert.LessOrEqual(t, len(short), limit)
		assert.True(t, !utf8.ValidString(text) || utf8.ValidString(short))
		assert.True(t, len(text) > limit || short == text)

		reason := cleanReason(text, "Fallback")
		assert.Regexp(t, `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`, reason)
		assert.LessOrEqual(t, len(reason), maxReason)
		assert.True(t, strings.Contains(text, reason) || reason != text)
	})
}

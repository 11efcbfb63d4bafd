package apply

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// asWritten is the text as JSON, with each character as it is where JSON allows that.
func asWritten(t *testing.T, text string) []byte {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(map[string]string{"text": text}))
	return []byte(strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\u007f`, "\u007f").Replace(out.String()))
}

// The API server reads an apply with this library, which follows YAML 1.1.
func readBack(t *testing.T, body []byte) string {
	t.Helper()
	var read map[string]string
	require.NoError(t, yaml.UnmarshalStrict(body, &read), "%q", body)
	return read["text"]
}

func TestEscapesAreReadBackAsEveryCharacter(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x11000) {
		if utf8.ValidRune(r) {
			all.WriteRune('a')
			all.WriteRune(r)
		}
	}
	all.WriteRune(utf8.MaxRune)
	assert.True(t, all.String() == readBack(t, escapeForYAML(asWritten(t, all.String()))), "a character was changed")
}

func TestOnlyWhatYAMLDoesNotTakeIsEscaped(t *testing.T) {
	assert.Equal(t, `{"a":"\u007f \u0080 \u0085 \u009f \u2028 \u2029 \ufeff \ufffe \uffff"}`,
		string(escapeForYAML([]byte("{\"a\":\"\u007f \u0080 \u0085 \u009f \u2028 \u2029 \ufeff \ufffe \uffff\"}"))))
	const plain = `{"a":"~ \u00e9 \n ü 日本 😀 �"}`
	assert.Equal(t, plain, string(escapeForYAML([]byte(plain))))
}

func FuzzEscapesAreReadBack(f *testing.F) {
	f.Add("line\u2028line\u0085")
	f.Add("\ufeff: - # {")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		assert.Equal(t, text, readBack(t, escapeForYAML(asWritten(t, text))))
	})
}

package apply

import (
	"fmt"
	"regexp"
)

// yamlForbids matches the characters that JSON takes as they are and YAML 1.1 does not.
var yamlForbids = regexp.MustCompile("[\x7f-\u009f\u2028\u2029\ufeff\ufffe\uffff]")

// escapeForYAML writes such characters of a JSON text, all of them inside strings, as escapes. The API server reads the
// body of an apply as YAML, which would fold or refuse them.
func escapeForYAML(text []byte) []byte {
	return yamlForbids.ReplaceAllFunc(text, func(r []byte) []byte {
		return fmt.Appendf(nil, "\\u%04x", []rune(string(r))[0])
	})
}

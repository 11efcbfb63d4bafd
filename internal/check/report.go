package check

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// The whole message stays far below the 32 KiB that the API allows a
	// condition's message, so that it also fits beside other text.
	maxMessageBytes = 8 << 10
	// One finding must not crowd out the others.
	maxLineBytes = 1 << 10
	// Room kept for the line that counts the findings left out.
	countLineBytes = 64
	// Longest part of the user's own text that a message repeats.
	maxQuotedBytes = 60

	cutMark = "…"
)

// Report is the verdict. Without findings the document is accepted.
type Report struct {
	Findings []Finding
}

// ExitCode is 0 when the document is accepted and 1 when it is refused.
func (r Report) ExitCode() int32 {
	if len(r.Findings) == 0 {
		return 0
	}
	return 1
}

// Message has one line per finding, and is empty when there is none. It has at
// most 8 KiB of valid UTF-8; what does not fit is left out and counted.
func (r Report) Message() string {
	var text strings.Builder
	for i, found := range r.Findings {
		line := cut(strings.ToValidUTF8(found.Field+": "+found.Message, "�"), maxLineBytes)
		if i > 0 {
			line = "\n" + line
		}
		if text.Len()+len(line)+countLineBytes > maxMessageBytes {
			fmt.Fprintf(&text, "\n%s and %d more findings.", cutMark, len(r.Findings)-i)
			break
		}
		text.WriteString(line)
	}
	return text.String()
}

// quote repeats the user's text in a message: printable, and short.
func quote(text string) string {
	return strconv.Quote(cut(text, maxQuotedBytes))
}

// cut shortens a text to a number of bytes on a character boundary and marks
// where it did so.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(cutMark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

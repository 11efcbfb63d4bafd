package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// story prints what happens, with the seconds since it began.
type story struct {
	out   io.Writer
	began time.Time
}

func newStory(out io.Writer) story { return story{out: out, began: time.Now()} }

// step begins a part of the story.
func (s story) step(format string, args ...any) {
	fmt.Fprintf(s.out, "[%5.1fs] %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// show prints a text indented, under the step that it belongs to.
func (s story) show(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(s.out, "         %s\n", strings.TrimRight(line, "\n"))
	}
}

// chapter prints a heading and a text at the left edge, for wide tables.
func (s story) chapter(heading, text string) {
	fmt.Fprintf(s.out, "\n%s\n%s\n", heading, strings.TrimRight(text, "\n"))
}

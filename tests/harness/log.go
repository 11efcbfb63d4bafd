package harness

import (
	"bytes"
	"strings"
	"sync"
)

// logBuffer collects what a process writes.
type logBuffer struct {
	mutex  sync.Mutex
	text   bytes.Buffer
	marked int
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// mark is where the present process began to write.
func (b *logBuffer) mark() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.marked = b.text.Len()
}

func (b *logBuffer) sinceMark() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return string(b.text.Bytes()[b.marked:])
}

// tail is the last lines.
func (b *logBuffer) tail(lines int) string {
	all := strings.Split(strings.TrimSpace(b.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// around is the first line with the word, and some after it.
func (b *logBuffer) around(word string) string {
	all := strings.Split(b.String(), "\n")
	for i, line := range all {
		if strings.Contains(line, word) {
			return strings.Join(all[i:min(len(all), i+30)], "\n")
		}
	}
	return ""
}

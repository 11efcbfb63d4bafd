package main

import (
	"bytes"

	"github.com/beyond10x/loom-operator/tests/harness"
)

// publish replaces the table in docs/performance.md.
func (r Report) publish() error {
	var table bytes.Buffer
	if err := r.print(&table); err != nil {
		return err
	}
	return harness.Publish("performance.md", "bench", append(table.Bytes(), '\n'))
}

package main

import (
	"fmt"
	"os"
	"strings"
)

// The table stands in a document between these two lines.
const (
	tableBegins = "<!-- table of make bench -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// publish replaces the table of a document.
func (r Report) publish(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s lacks the lines %q and %q", path, strings.TrimSpace(tableBegins), strings.TrimSpace(tableEnds))
	}
	var table strings.Builder
	if err := r.print(&table); err != nil {
		return err
	}
	document := before + tableBegins + "\n" + table.String() + "\n" + tableEnds + after
	if err := os.WriteFile(path, []byte(document), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

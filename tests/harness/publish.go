package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// Publish puts a text into a page of docs, between the two marks of a section:
// what a program has measured is never copied by hand.
func Publish(page, section string, text []byte) error {
	root, err := Root()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", page)
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("publish the %s: %w", section, err)
	}
	changed, err := replaceSection(document, section, text)
	if err != nil {
		return fmt.Errorf("publish the %s in %s: %w", section, path, err)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		return fmt.Errorf("publish the %s: %w", section, err)
	}
	return nil
}

// replaceSection replaces what is between the marks of a section, which have
// to be there once.
func replaceSection(document []byte, section string, text []byte) ([]byte, error) {
	begin, end := fmt.Appendf(nil, "<!-- begin %s -->\n", section), fmt.Appendf(nil, "<!-- end %s -->\n", section)
	between := regexp.MustCompile("(?s)" + regexp.QuoteMeta(string(begin)) + ".*?" + regexp.QuoteMeta(string(end)))
	if n := len(between.FindAll(document, -1)); n != 1 {
		return nil, fmt.Errorf("the marks of section %q are there %d times, not once", section, n)
	}
	return between.ReplaceAllLiteral(document, bytes.Join([][]byte{begin, text, end}, nil)), nil
}

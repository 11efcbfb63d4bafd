// Command cases writes docs/cases.md: which test shows that a reported fault
// does not happen here.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: cases ROOT")
	}
	text, err := render(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(document(os.Args[1]), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

func document(root string) string { return filepath.Join(root, "docs", "cases.md") }

func render(root string) (string, error) {
	all, err := entries()
	if err != nil {
		return "", err
	}
	tests, err := scan(root)
	if err != nil {
		return "", err
	}
	return page(all, tests)
}

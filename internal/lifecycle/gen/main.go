// Command gen writes docs/lifecycle.md from the table of internal/lifecycle.
// Its one argument is the file to write.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(render()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "The lifecycle document was not written:", err)
		os.Exit(1)
	}
}

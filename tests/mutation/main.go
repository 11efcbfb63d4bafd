// Command mutation shows that tests notice mistakes. It makes one small change
// at a time to the Go packages it is given, runs their tests on each change,
// and lists what the tests made of it.
//
// Usage: mutation DIRECTORY...
//
// A change that cannot make a difference is listed in equivalent.txt with the
// reason. The exit code is 0 when every other change was noticed, 1 when one
// was not or equivalent.txt has a line too many, and 2 when the check could not
// run. Source files are never written: a change reaches the compiler as a build
// overlay.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

//go:embed equivalent.txt
var equivalentText string

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mutation DIRECTORY...")
		os.Exit(2)
	}
	equivalent, err := parseEquivalent(equivalentText)
	good := err == nil
	for _, dir := range os.Args[1:] {
		if err != nil {
			break
		}
		var ok bool
		ok, err = checkPackage(os.Stdout, dir, equivalent)
		good = good && ok
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "The mutation check could not run:", err)
		os.Exit(2)
	case !good:
		os.Exit(1)
	}
}

// parseEquivalent reads lines of the form "FILE: FUNCTION: CHANGE => REASON".
// Empty lines and lines that start with # are comments.
func parseEquivalent(text string) (map[string]string, error) {
	equivalent := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " => ")
		if reason == "" {
			return nil, fmt.Errorf("equivalent.txt: %q gives no reason; write FILE: FUNCTION: CHANGE => REASON", line)
		}
		equivalent[id] = reason
	}
	return equivalent, nil
}

// checkPackage tests all mutants of one package, prints a row for each, and
// reports whether all is well.
func checkPackage(out io.Writer, dir string, equivalent map[string]string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot(dir)
	if err != nil {
		return false, err
	}
	mutants, err := mutantsOf(dir)
	if err != nil {
		return false, err
	}
	pkg, err := filepath.Rel(root, dir)
	if err != nil {
		return false, err
	}
	pkg = filepath.ToSlash(pkg)
	fmt.Fprintf(out, "%s: testing %d mutants\n", pkg, len(mutants))
	verdicts, err := testAll(dir, mutants)
	if err != nil {
		return false, err
	}
	return report(out, pkg, mutants, verdicts, equivalent), nil
}

func report(out io.Writer, pkg string, mutants []mutant, verdicts []verdict, equivalent map[string]string) bool {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	count := map[verdict]int{}
	used := map[string]bool{}
	var problems []string
	for i, m := range mutants {
		id := path.Join(pkg, filepath.Base(m.file)) + ": " + m.change
		v, reason := verdicts[i], ""
		if v == survived && equivalent[id] != "" {
			v, reason, used[id] = same, equivalent[id], true
		}
		if v == survived {
			problems = append(problems, "No test noticed "+id)
		}
		count[v]++
		fmt.Fprintf(table, "%s:%d\t%s\t%s\t%s\n", filepath.Base(m.file), m.line, m.change, v, reason)
	}
	for id := range equivalent {
		file, _, _ := strings.Cut(id, ": ")
		if path.Dir(file) == pkg && !used[id] {
			problems = append(problems, "Remove from equivalent.txt, no such mutant survives: "+id)
		}
	}
	if err := table.Flush(); err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		fmt.Fprintln(out, problem)
	}
	fmt.Fprintf(out, "%s: %d mutants, %d killed, %d survived, %d equivalent, %d do not compile\n",
		pkg, len(mutants), count[killed], count[survived], count[same], count[stillborn])
	return len(problems) == 0
}

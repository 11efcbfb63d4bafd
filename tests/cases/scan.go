package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// own is this folder, whose tests have numbers for other reasons.
const own = "tests/cases"

// test is one test that carries the number of a case.
type test struct{ folder, name string }

var (
	inName    = regexp.MustCompile(`^(?:Test|Fuzz)(A\d\d)[A-Z]`)
	inComment = regexp.MustCompile(`\bA\d\d\b`)
	atStart   = regexp.MustCompile(`^A\d\d\b`)
)

// scan finds the tests of every case below a folder. A test carries a number in
// its name, in the comment on it, or at the start of a text in it, which is
// where tables have their keys and assertions their messages.
func scan(root string) (map[string][]test, error) {
	found := map[string][]test{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if folder = filepath.ToSlash(folder); folder == own {
			return nil
		}
		return scanFile(path, folder, found)
	})
	if err != nil {
		return nil, fmt.Errorf("look for tests: %w", err)
	}
	return found, nil
}

func scanFile(path, folder string, found map[string][]test) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !strings.HasPrefix(function.Name.Name, "Test") && !strings.HasPrefix(function.Name.Name, "Fuzz") {
			continue
		}
		for _, number := range numbers(function) {
			found[number] = append(found[number], test{folder, function.Name.Name})
		}
	}
	return nil
}

// numbers are the cases of one test.
func numbers(function *ast.FuncDecl) []string {
	all := map[string]bool{}
	if match := inName.FindStringSubmatch(function.Name.Name); match != nil {
		all[match[1]] = true
	}
	for _, number := range inComment.FindAllString(function.Doc.Text(), -1) {
		all[number] = true
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && atStart.MatchString(text) {
			all[atStart.FindString(text)] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(all))
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is one small change of one source file: the bytes from start to end
// become text.
type mutant struct {
	file       string
	line       int
	start, end int
	text       string
	// change says in which function what becomes what. It has no line number,
	// so that an edit elsewhere does not change it, and is unique in the file.
	change string
}

// mutantsOf lists the mutants of the package in dir, without its tests and
// generated files.
func mutantsOf(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(tree) {
			f := finder{file: set.File(tree.FileStart), source: source, seen: map[string]int{}}
			f.declarations(tree)
			mutants = append(mutants, f.mutants...)
		}
	}
	return mutants, nil
}

// finder collects the mutants of one file.
type finder struct {
	file     *token.File
	source   []byte
	function string
	seen     map[string]int
	mutants  []mutant
}

// declarations visits everything but imports, type declarations and the text
// handed to fmt and errors, which is prose and decides nothing.
func (f *finder) declarations(tree *ast.File) {
	for _, declaration := range tree.Decls {
		f.function = "package"
		if function, ok := declaration.(*ast.FuncDecl); ok {
			f.function = function.Name.Name
		}
		ast.Inspect(declaration, func(node ast.Node) bool {
			f.node(node)
			switch n := node.(type) {
			case *ast.ImportSpec, *ast.TypeSpec:
				return false
			case *ast.CallExpr:
				return !isProse(n)
			}
			return true
		})
	}
}

func isProse(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, ok := selector.X.(*ast.Ident)
	return ok && (name.Name == "fmt" || name.Name == "errors")
}

// operators maps each operator to the one a careless author would write.
var operators = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

// node adds the mutants of one node, not those of the nodes in it.
func (f *finder) node(node ast.Node) {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		if other, ok := operators[n.Op]; ok {
			f.replace(n.Pos(), n.End(), f.text(n.X.Pos(), n.X.End())+" "+other.String()+" "+f.text(n.Y.Pos(), n.Y.End()))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.replace(n.Pos(), n.End(), f.text(n.X.Pos(), n.X.End()))
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.replace(n.Pos(), n.End(), "")
		}
	case *ast.IncDecStmt, *ast.ExprStmt, *ast.BranchStmt:
		f.replace(n.Pos(), n.End(), "")
	case *ast.CaseClause:
		if len(n.Body) > 0 {
			f.replace(n.Body[0].Pos(), n.End(), "")
		}
	case *ast.CompositeLit:
		f.dropElements(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.replace(n.Pos(), n.End(), other)
		}
	}
}

// negate leaves out what a change of its operator already covers.
func (f *finder) negate(condition ast.Expr) {
	switch condition.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
	default:
		f.replace(condition.Pos(), condition.End(), "!("+f.text(condition.Pos(), condition.End())+")")
	}
}

// dropElements removes the elements one at a time, each with the comma after it.
func (f *finder) dropElements(literal *ast.CompositeLit) {
	for i, element := range literal.Elts {
		end := element.End()
		if i+1 < len(literal.Elts) {
			end = literal.Elts[i+1].Pos()
		} else if f.text(end, end+1) == "," {
			end++
		}
		f.replace(element.Pos(), end, "")
	}
}

func (f *finder) literal(literal *ast.BasicLit) {
	switch literal.Kind {
	case token.STRING:
		if strings.Contains(literal.Value, " ") {
			return // A sentence for people decides nothing.
		}
		f.replace(literal.Pos(), literal.End(), literal.Value+`+"x"`)
	case token.INT:
		f.replace(literal.Pos(), literal.End(), "("+literal.Value+" + 1)")
	}
}

func (f *finder) text(from, to token.Pos) string {
	return string(f.source[f.file.Offset(from):f.file.Offset(to)])
}

func (f *finder) replace(from, to token.Pos, text string) {
	change := f.function + ": drop " + short(f.text(from, to))
	if text != "" {
		change = f.function + ": " + short(f.text(from, to)) + " becomes " + short(text)
	}
	f.seen[change]++
	if n := f.seen[change]; n > 1 {
		change += " #" + strconv.Itoa(n)
	}
	f.mutants = append(f.mutants, mutant{
		file: f.file.Name(), line: f.file.Line(from), change: change,
		start: f.file.Offset(from), end: f.file.Offset(to), text: text,
	})
}

// short puts source text on one line and cuts it to fit a table.
func short(source string) string {
	return fmt.Sprintf("%.60s", strings.Join(strings.Fields(source), " "))
}

package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Limits of a readable file.
const (
	maxFileLines     = 800
	maxFunctionLines = 80
)

// File is a file of the repository: its path from the root, with slashes, and its content.
type File struct {
	Path string
	Text []byte
}

// dir is the Go files of one directory, parsed.
type dir struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	names []string // paths of files
}

// CheckSource returns a complaint for each file, function or variable among files that breaks a rule of style. Files
// that are not Go, and generated ones, pass. allowed excuses package-level variables, as "path/of/file.go:name".
func CheckSource(files []File, allowed map[string]string) []string {
	var bad []string
	dirs := map[string]*dir{}
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") || strings.Contains(f.Path, "testdata/") {
			continue
		}
		d := dirs[path.Dir(f.Path)]
		if d == nil {
			d = &dir{path: path.Dir(f.Path), fset: token.NewFileSet()}
			dirs[d.path] = d
		}
		tree, err := parser.ParseFile(d.fset, f.Path, f.Text, parser.ParseComments)
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s does not parse: %v", f.Path, err))
			continue
		}
		if !ast.IsGenerated(tree) {
			d.files = append(d.files, tree)
			d.names = append(d.names, f.Path)
		}
	}
	for _, d := range dirs {
		bad = append(bad, d.lengths()...)
		bad = append(bad, d.inits()...)
		bad = append(bad, d.comment()...)
		bad = append(bad, d.variables(allowed)...)
	}
	slices.Sort(bad)
	return bad
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// lengths complains about long files and functions outside tests.
func (d *dir) lengths() []string {
	var bad []string
	for i, f := range d.files {
		if isTest(d.names[i]) {
			continue
		}
		if n := d.fset.File(f.FileStart).LineCount(); n > maxFileLines {
			bad = append(bad, fmt.Sprintf("%s has %d lines: use one file per noun, none above %d", d.names[i], n, maxFileLines))
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := d.fset.Position(fn.Pos()).Line, d.fset.Position(fn.End()).Line
			if n := last - first + 1; n > maxFunctionLines {
				bad = append(bad, fmt.Sprintf("%s:%d: %s has %d lines: use several functions, none above %d", d.names[i], first, fn.Name.Name, n, maxFunctionLines))
			}
		}
	}
	return bad
}

// inits complains about init functions.
func (d *dir) inits() []string {
	var bad []string
	for i, f := range d.files {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				bad = append(bad, fmt.Sprintf("%s:%d: init: use a constructor that main calls", d.names[i], d.fset.Position(fn.Pos()).Line))
			}
		}
	}
	return bad
}

// comment complains about a package that does not say what it is. One that is generated, or tests alone, passes.
func (d *dir) comment() []string {
	code := false
	for i, f := range d.files {
		if isTest(d.names[i]) {
			continue
		}
		code = true
		if f.Doc != nil && len(f.Doc.Text()) > 0 {
			return nil
		}
	}
	if !code {
		return nil
	}
	return []string{d.path + " has no package comment: use doc.go to say purpose, picture, invariants, and what it does not do"}
}

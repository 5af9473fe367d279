package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
	"unicode/utf8"
)

const (
	// maxCodeColumns is the width of a line of code. A tab counts as four columns.
	maxCodeColumns = 140
	// longLiteral is the number of characters from which on a string literal may make its line
	// wider: a text that is broken into pieces cannot be searched for.
	longLiteral = 100
)

// CheckCodeWidth returns a complaint for each line of Go that is too wide. It does not read
// generated code, testdata and tests, whose tables have golden texts.
func CheckCodeWidth(files []File) []string {
	var bad []string
	for _, f := range files {
		if !isGo(f.Path) || isTest(f.Path) || isGeneratedGo(f) {
			continue
		}
		var long map[int]bool // lines of long literals; nil: not yet read
		for i, line := range strings.Split(string(f.Text), "\n") {
			n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if n <= maxCodeColumns {
				continue
			}
			if long == nil {
				long = linesOfLongLiterals(f.Text)
			}
			if !long[i+1] {
				bad = append(bad, fmt.Sprintf("%s:%d: the line has %d columns, too wide to read: break its arguments, elements or conditions at %d",
					f.Path, i+1, n, maxCodeColumns))
			}
		}
	}
	return bad
}

func isGeneratedGo(f File) bool {
	if !bytes.Contains(f.Text, []byte("// Code generated ")) {
		return false
	}
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Text, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(tree)
}

// linesOfLongLiterals returns the lines with a part of a string literal that may make them wider.
func linesOfLongLiterals(text []byte) map[int]bool {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	found := map[int]bool{}
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return found
		}
		if kind != token.STRING || utf8.RuneCountInString(literal) < longLiteral {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(literal, "\n") + 1 {
			found[first+i] = true
		}
	}
}

package lint

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// goWords returns the lines of a Go file. It blanks out //go: directives, the paths of imports, and
// in tests the string literals, which compare with texts of other files. It returns nothing for a
// generated file and for a file without a package clause.
func goWords(f File) []fragment {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Text, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return nil
	}
	text := []byte(string(f.Text))
	set := token.NewFileSet()
	file := set.AddFile(f.Path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, f.Text, nil, scanner.ScanComments)
	imports := false
	for {
		at, tok, value := s.Scan()
		from := file.Offset(at)
		switch tok {
		case token.EOF:
			return lines(1, string(text))
		case token.IMPORT:
			imports = true
		case token.FUNC, token.TYPE, token.VAR, token.CONST:
			imports = false
		case token.COMMENT:
			if strings.HasPrefix(value, "//go:") {
				blank(text[from : from+len(value)])
			}
		case token.STRING:
			switch {
			case imports || isTest(f.Path):
				blank(text[from : from+len(value)])
			case value[0] == '"':
				copy(text[from:], strings.NewReplacer(`\\`, "  ", `\n`, "  ", `\t`, "  ").Replace(value))
			}
		default:
		}
	}
}

// blank overwrites text with spaces, except line ends.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

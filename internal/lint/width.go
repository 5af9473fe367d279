package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is the width of a line of prose. A tab counts as four columns.
const maxColumns = 100

// CheckWidth returns a complaint for each line of prose that is too wide. Lines of prose are lines
// of Markdown, and lines of code and settings that consist of a comment. Tables, blocks of code,
// the targets of links and the expected output of examples have no limit. CheckWidth does not read
// generated code and testdata.
func CheckWidth(files []File) []string {
	link := regexp.MustCompile(`\]\([^)]*\)|<?https?://\S+`)
	var bad []string
	for _, f := range files {
		if strings.Contains(f.Path, "testdata/") {
			continue
		}
		for _, fr := range prose(f) {
			text := link.ReplaceAllString(strings.ReplaceAll(fr.text, "\t", "    "), "")
			if n := utf8.RuneCountInString(text); n > maxColumns {
				bad = append(bad,
					fmt.Sprintf("%s:%d: the line has %d columns, too wide to read beside a diff: wrap prose at %d", f.Path, fr.line, n,
						maxColumns))
			}
		}
	}
	return bad
}

// prose returns the lines of f that have a limit.
func prose(f File) []fragment {
	switch path.Ext(f.Path) {
	case ".md":
		return markdownProse(string(f.Text))
	case ".go":
		return goProse(f)
	case ".proto":
		return startsWith("//", f.Text)
	case ".java":
		return startsWith("//", f.Text)
	case ".yml", ".yaml":
		return startsWith("#", f.Text)
	}
	if isScript(f.Path) {
		return startsWith("#", f.Text)
	}
	return nil
}

// startsWith returns the lines of text that consist of a comment, which begins with mark.
func startsWith(mark string, text []byte) []fragment {
	return slices.DeleteFunc(lines(1, string(text)), func(fr fragment) bool {
		return !strings.HasPrefix(strings.TrimSpace(fr.text), mark)
	})
}

// markdownProse returns the lines of a Markdown text outside tables and fenced blocks of code.
func markdownProse(text string) []fragment {
	fence := ""
	return slices.DeleteFunc(lines(1, text), func(fr fragment) bool {
		line := strings.TrimSpace(fr.text)
		for _, mark := range []string{"```", "~~~"} {
			switch {
			case !strings.HasPrefix(line, mark):
			case fence == "":
				fence = mark
				return true
			case fence == mark:
				fence = ""
				return true
			}
		}
		return fence != "" || strings.HasPrefix(line, "|")
	})
}

// goProse returns the lines of a Go file that consist of a comment.
func goProse(f File) []fragment {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, f.Path, f.Text, parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return nil
	}
	source := lines(1, string(f.Text))
	var list []fragment
	for _, group := range tree.Comments {
		if isTest(f.Path) && isOutput(group) {
			continue
		}
		for _, c := range group.List {
			first, last := fset.Position(c.Pos()).Line, fset.Position(c.End()).Line
			for _, fr := range source[first-1 : last] {
				line := strings.TrimSpace(fr.text)
				code := strings.HasPrefix(line, "//\t") || isDirective(line)
				if !code && (fr.line > first || strings.HasPrefix(line, "/")) {
					list = append(list, fr)
				}
			}
		}
	}
	return list
}

// isDirective reports whether a comment is for a tool, so that it cannot be wrapped.
func isDirective(comment string) bool {
	return strings.HasPrefix(comment, "//go:") || strings.HasPrefix(comment, "//nolint:")
}

// isOutput reports whether a comment is the expected output of an example.
func isOutput(group *ast.CommentGroup) bool {
	text := strings.ToLower(group.Text())
	return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
}

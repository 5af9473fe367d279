package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// CheckWords returns a complaint for each retired word in Go source, Markdown, protobuf, YAML,
// HTML, Java, Makefiles, Dockerfiles and the scripts in .ci. Go source includes the help of
// commands. An expression is matched line by line and must match whole words. The words of a name
// count, so that an expression for "colour" finds colourAt and colour_at. The texts in kept are
// permitted. The glossary, the changelog and the records of decisions may have retired words.
// CheckWords does not read generated code, testdata, and what goWords blanks out.
func CheckWords(files []File, retired []Retired, kept []string) []string {
	var pairs []string
	for _, text := range kept {
		pairs = append(pairs, text, "")
	}
	drop := strings.NewReplacer(pairs...)
	var bad []string
	for _, f := range files {
		if keepsWords(f.Path) {
			continue
		}
		list := fragments(f)
		for i := range list {
			list[i].text = drop.Replace(list[i].text)
		}
		for _, fr := range list {
			list = append(list, fragment{fr.line, splitNames(fr.text)})
		}
		bad = append(bad, complaints(f.Path, list, retired)...)
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// complaints returns a complaint for each retired word in the text of a file.
func complaints(name string, list []fragment, retired []Retired) []string {
	var whole strings.Builder
	for _, fr := range list {
		whole.WriteString(fr.text + "\n")
	}
	lower := strings.ToLower(whole.String())
	var bad []string
	for _, r := range retired {
		if !strings.Contains(lower, r.part) {
			continue
		}
		for _, fr := range list {
			if !strings.Contains(strings.ToLower(fr.text), r.part) {
				continue
			}
			for _, m := range r.Word.FindAllStringIndex(fr.text, -1) {
				if isWhole(fr.text, m[0], m[1]) {
					bad = append(bad,
						fmt.Sprintf(
							"%s:%d: the word %q is retired, because it is not a term of the field or not plain English: write %s (%s)",
							name, fr.line, fr.text[m[0]:m[1]], r.Instead, glossaryDoc))
				}
			}
		}
	}
	return bad
}

// isWhole reports whether text[from:to] neither begins nor ends inside a word.
func isWhole(text string, from, to int) bool {
	word := func(i int) bool {
		return 0 <= i && i < len(text) && (isLower(text[i]) || isUpper(text[i]) || text[i] == '_')
	}
	return !(word(from-1) && word(from)) && !(word(to-1) && word(to))
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// isLower reports whether c is a lower-case letter or a digit.
func isLower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// keepsWords reports whether the file may have retired words.
func keepsWords(name string) bool {
	return name == glossaryDoc || path.Base(name) == "CHANGELOG.md" || strings.HasPrefix(name, "docs/adr/") ||
		strings.Contains(name, "testdata/")
}

// fragment is text that people read, on a line of a file.
type fragment struct {
	line int
	text string
}

// fragments returns the text of f that people read.
func fragments(f File) []fragment {
	switch path.Ext(f.Path) {
	case ".go":
		return goWords(f)
	case ".md", ".proto", ".yml", ".yaml", ".html", ".java":
		return lines(1, string(f.Text))
	}
	if isScript(f.Path) {
		return lines(1, string(f.Text))
	}
	return nil
}

// lines returns each line of text, which begins on the line first.
func lines(first int, text string) []fragment {
	var list []fragment
	for i, line := range strings.Split(text, "\n") {
		list = append(list, fragment{first + i, line})
	}
	return list
}

// splitNames puts a space between the words of the names in text: colourAt and colour_at become
// "colour At" and "colour at".
func splitNames(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if i > 0 && isUpper(c) {
			before := text[i-1]
			if isLower(before) || isUpper(before) && i+1 < len(text) && isLower(text[i+1]) {
				b.WriteByte(' ')
			}
		}
		if c == '_' {
			c = ' '
		}
		b.WriteByte(c)
	}
	return b.String()
}

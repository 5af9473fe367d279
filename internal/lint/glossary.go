package lint

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// glossaryDoc defines the terms of the project. Its section of retired words is the table that
// CheckWords reads.
const glossaryDoc = "docs/glossary.md"

// retiredHeading begins the section, which ends at the next heading of the same level.
const retiredHeading = "## Retired words"

// Retired is a word that the project no longer uses, and what to write in its place.
type Retired struct {
	Word    *regexp.Regexp // ignores case, unless the expression begins with (?-i)
	Instead string         // Markdown, as in the table
	part    string         // text in lower case that every match contains, for a quick test
}

// ParseRetired reads the tables of the section "Retired words" of a glossary:
//
//	| retired | write instead |
//	|---|---|
//	| `colou?rs`, `(?-i)paint(ed\|ing)` | shade |
//
// Each expression in backquotes in the first column, in the syntax of package regexp, is one
// Retired; the column's other text is for readers. An expression ignores case unless it begins with
// (?-i). A "|" inside a cell is written "\|". ParseRetired fails if the section is missing or has
// no row, and if a row has another number of cells, an empty cell, no expression, or one that does
// not compile.
func ParseRetired(glossary []byte) ([]Retired, error) {
	var list []Retired
	var errs []error
	inside := false
	number := 0
	for line := range strings.Lines(string(glossary)) {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			inside = line == retiredHeading
		}
		if !inside || !strings.HasPrefix(line, "|") {
			continue
		}
		row, err := parseRow(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", glossaryDoc, number, err))
		}
		list = append(list, row...)
	}
	if len(list) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s has no table below the heading %q", glossaryDoc, retiredHeading))
	}
	return list, errors.Join(errs...)
}

// parseRow reads a row of the table. It returns nothing for the header and the line below it.
func parseRow(line string) ([]Retired, error) {
	cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|")
	}
	if len(cells) != 2 || cells[1] == "" {
		return nil, errors.New(`a row needs two cells, "| retired | write instead |"`)
	}
	if cells[0] == "retired" || strings.Trim(cells[0], "-:") == "" {
		return nil, nil
	}
	spans := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1)
	if len(spans) == 0 {
		return nil, errors.New("the first cell has no expression in backquotes")
	}
	var list []Retired
	for _, s := range spans {
		word, err := regexp.Compile(`(?i:` + s[1] + `)`)
		if err != nil {
			return nil, err
		}
		word.Longest() // prefer the longest match, which is a whole word if any match is
		tree, err := syntax.Parse(word.String(), syntax.Perl)
		if err != nil {
			return nil, err
		}
		list = append(list, Retired{word, cells[1], literal(tree)})
	}
	return list, nil
}

// literal returns a text, in lower case, that every match of the expression contains. It may be "".
func literal(x *syntax.Regexp) string {
	longest := ""
	switch x.Op {
	case syntax.OpLiteral:
		return strings.ToLower(string(x.Rune))
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range x.Sub {
			if l := literal(sub); len(l) > len(longest) {
				longest = l
			}
		}
	default:
	}
	return longest
}

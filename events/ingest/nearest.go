package ingest

import (
	"fmt"
	"strings"
)

// didYouMean returns `: did you mean "name"?` for the name that is most like s, without regard to
// case, or "" if no name is so close that a slip explains the difference.
func didYouMean(s string, names []string) string {
	name := nearest(s, names)
	if distance(strings.ToLower(s), strings.ToLower(name)) > max(len(s), len(name), 3)/3 {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", clip(name))
}

// sentence ends the sentence before a hint, which may be empty.
func sentence(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// quoted returns names for a message: quoted, because the input may contain control characters, and
// not more than a screen of them.
func quoted(names []string) string {
	const most = 40
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, fmt.Sprintf("%q", clip(name)))
	}
	if len(names) > most {
		list = append(list, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(list, ", ")
}

// nearest returns the name with the smallest edit distance from s, without regard to case.
func nearest(s string, names []string) string {
	best, least := "", int(^uint(0)>>1)
	for _, name := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the Levenshtein distance. It looks at the first 128 bytes only, because names come
// from the input too.
func distance(a, b string) int {
	const maxLen = 128
	a, b = a[:min(len(a), maxLen)], b[:min(len(b), maxLen)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

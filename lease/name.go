package lease

import "strings"

// JoinNames joins names to one text for people. Different lists of names give different texts.
func JoinNames(names ...string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = escape(n)
	}
	return strings.Join(parts, "#")
}

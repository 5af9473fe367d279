package lease

import "strings"

// JoinNames is names as one, such that different lists of names are never the same one: for ids that people read.
func JoinNames(names ...string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = escape(n)
	}
	return strings.Join(parts, "#")
}

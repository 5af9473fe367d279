package lint

import (
	"path"
	"slices"
	"strings"
)

// Outside returns the complaints about files that no pattern of pending covers, and the patterns
// that cover none: a rule can be introduced while some folders still break it, and a folder leaves
// the list when it is clean.
//
// A pattern is a file, "README.md", a folder without those below it, "agent", or with them,
// "agent/...". A complaint begins with the path of its file and a colon.
func Outside(complaints, pending []string) (rest, idle []string) {
	used := map[string]bool{}
	for _, c := range complaints {
		name, _, _ := strings.Cut(c, ":")
		covered := false
		for _, p := range pending {
			if covers(p, name) {
				used[p], covered = true, true
			}
		}
		if !covered {
			rest = append(rest, c)
		}
	}
	idle = slices.DeleteFunc(slices.Clone(pending), func(p string) bool { return used[p] })
	return rest, idle
}

// covers reports whether a pattern covers the file called name.
func covers(pattern, name string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return below(name, tree)
	}
	return pattern == name || pattern == path.Dir(name)
}

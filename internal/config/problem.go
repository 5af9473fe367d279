package config

import "strings"

// Error lists all problems of a configuration. Commands exit with code 78 for it.
type Error struct{ Problems []Problem }

// Problem is one problem of a configuration.
type Problem struct {
	Where string // file:line, variable or flag; "" for a default
	Key   string // dotted key, as written by the user
	What  string // never contains a secret
	Fix   string // what the user can do
}

// String returns one line: where, what and fix.
func (p Problem) String() string {
	s := p.What
	if p.Where != "" {
		s = p.Where + ": " + s
	}
	if p.Fix != "" {
		s += ": " + p.Fix
	}
	return s
}

// Error returns the problems, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

package config

import "strings"

// Error is everything that is wrong with a configuration. A command that gets one exits with 78.
type Error struct{ Problems []Problem }

// Problem is one thing that is wrong.
type Problem struct {
	Where string // "weir.yaml:3", "WEIR_KAFKA_BROKERS", "--brokers", or "" for a default
	Key   string // the dotted key as given
	What  string // e.g. `unknown key "kafka.brokerz"`; never contains a secret
	Fix   string // what to do now
}

// String is one line: where, what, and what to do.
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

// Error lists the problems, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

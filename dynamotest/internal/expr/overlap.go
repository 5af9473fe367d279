package expr

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// relation is how two paths relate.
type relation int

const (
	disjoint relation = iota
	overlap           // one path is a prefix of the other, or they are equal
	conflict          // the paths treat one value as a map and as a list
)

func (b *binding) relate(x, y path) relation {
	for i := range min(len(x), len(y)) {
		s, t := &x[i], &y[i]
		switch {
		case s.index >= 0 != (t.index >= 0):
			return conflict
		case s.index != t.index || s.index < 0 && b.name(s) != b.name(t):
			return disjoint
		}
	}
	return overlap
}

// checkDisjoint returns the message for the first two paths that overlap. If no two overlap, it
// returns the message for the first two that conflict, or "".
func (b *binding) checkDisjoint(paths []path) string {
	conflicting := ""
	for i, y := range paths {
		for _, x := range paths[:i] {
			r := b.relate(x, y)
			if r == overlap {
				return "Two document paths overlap with each other; " + b.both(x, y)
			}
			if r == conflict && conflicting == "" {
				conflicting = "Two document paths conflict with each other; " + b.both(x, y)
			}
		}
	}
	return conflicting
}

func (b *binding) both(x, y path) string {
	return "must remove or rewrite one of these paths; path one: " + b.show(x) + ", path two: " + b.show(y)
}

// show returns the path in the form of error texts: [a, b, [3]].
func (b *binding) show(p path) string {
	var parts []string
	for i := range p {
		if s := &p[i]; s.index >= 0 {
			parts = append(parts, "["+strconv.Itoa(s.index)+"]")
		} else {
			parts = append(parts, b.name(s))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// checkScalars returns an error if a path leads inside one of the named key attributes. label is
// the term in the error.
func (b *binding) checkScalars(paths []path, label string, keys []string) error {
	for _, key := range keys {
		for _, p := range paths {
			if len(p) > 1 && b.name(&p[0]) == key {
				return item.Invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: " + label +
					": " + key)
			}
		}
	}
	return nil
}

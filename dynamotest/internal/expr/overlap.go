package expr

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// relation says how two paths lie to each other.
type relation int

const (
	apart    relation = iota
	overlap           // one leads through the other, or they are the same
	conflict          // the same value would have to be a map and a list
)

func (b *binding) relate(x, y path) relation {
	for i := range min(len(x), len(y)) {
		s, t := &x[i], &y[i]
		switch {
		case s.index >= 0 != (t.index >= 0):
			return conflict
		case s.index != t.index || s.index < 0 && b.name(s) != b.name(t):
			return apart
		}
	}
	return overlap
}

// checkApart returns the message for the first two paths that overlap, or if there are none that conflict.
func (b *binding) checkApart(paths []path) string {
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

// show returns the path as messages have it: [a, b, [3]].
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

// checkScalars returns the error if a path goes inside one of the key attributes named. label is what it is called.
func (b *binding) checkScalars(paths []path, label string, keys []string) error {
	for _, key := range keys {
		for _, p := range paths {
			if len(p) > 1 && b.name(&p[0]) == key {
				return item.Invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: " + label + ": " + key)
			}
		}
	}
	return nil
}

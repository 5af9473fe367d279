package expr

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// path leads to a value in an item: a.#b[3].
type path []step

// step is an attribute's name, literal or by placeholder, or the index of a list's element.
type step struct {
	name  string
	ref   int // slot of the placeholder, -1 if there is none
	index int // -1 if it is a name
}

// path reads a path.
func (p *parser) path() path { return p.steps(path{p.name()}) }

// steps reads the rest of a path.
func (p *parser) steps(path path) path {
	for {
		switch {
		case p.accept('.'):
			path = append(path, p.name())
		case p.accept('['):
			path = append(path, p.index())
		default:
			if len(path) > maxSteps {
				p.note(pathTooLong, "The document path has too many nesting elements; nesting elements: "+strconv.Itoa(len(path)))
			}
			return path
		}
	}
}

func (p *parser) name() step {
	switch {
	case p.peek() == tokName:
		n := slot(&p.refs.Names, p.take())
		p.order = append(p.order, ref{false, n})
		return step{ref: n, index: -1}
	case p.peek() == tokWord && !p.keyword(p.keywords...):
		word := p.take()
		if reserved(word) {
			p.note(reservedWord, "Attribute name is a reserved keyword; reserved keyword: "+word)
		}
		return step{name: word, ref: -1, index: -1}
	default:
		p.unexpected()
		return step{ref: -1, index: -1}
	}
}

func (p *parser) index() step {
	if p.peek() != tokDigits {
		p.unexpected()
		return step{ref: -1}
	}
	digits := p.take()
	p.expect(']')
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxIndex {
		p.note(indexTooLarge, "List index is not within the allowable range; index: ["+digits+"]")
		n = maxIndex
	}
	return step{ref: -1, index: n}
}

// binding has what the placeholders of an expression stand for, by slot.
type binding struct {
	names  []string     // "" where it is not defined
	values []item.Value // Missing where it is not defined
}

// bind returns the binding, and whether all is defined.
func (r Refs) bind(names Names, values item.Item) (b binding, complete bool) {
	complete = true
	if len(r.Names) > 0 {
		b.names = make([]string, len(r.Names))
		for i, ref := range r.Names {
			b.names[i] = names[ref]
			complete = complete && b.names[i] != ""
		}
	}
	if len(r.Values) > 0 {
		b.values = make([]item.Value, len(r.Values))
		for i, ref := range r.Values {
			b.values[i] = values.Get(ref)
			complete = complete && b.values[i].Exists()
		}
	}
	return b, complete
}

// undefined returns the message for a placeholder that is not defined, "" if it is.
func (b *binding) undefined(refs Refs, r ref) string {
	switch {
	case r.value && !b.values[r.slot].Exists():
		return "An expression attribute value used in expression is not defined; attribute value: " + refs.Values[r.slot]
	case !r.value && b.names[r.slot] == "":
		return "An expression attribute name used in the document path is not defined; attribute name: " + refs.Names[r.slot]
	default:
		return ""
	}
}

// name returns the attribute's name of a step that has one.
func (b *binding) name(s *step) string {
	if s.ref >= 0 {
		return b.names[s.ref]
	}
	return s.name
}

// get returns the value that the path leads to, Missing if there is none.
func (b *binding) get(it item.Item, p path) item.Value {
	v := it.Get(b.name(&p[0]))
	for i := 1; i < len(p) && v.Exists(); i++ {
		if s := &p[i]; s.index >= 0 {
			v = v.Index(s.index)
		} else {
			v = v.Item().Get(b.name(s))
		}
	}
	return v
}

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
			switch b.relate(x, y) {
			case overlap:
				return "Two document paths overlap with each other; " + b.both(x, y)
			case conflict:
				if conflicting == "" {
					conflicting = "Two document paths conflict with each other; " + b.both(x, y)
				}
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

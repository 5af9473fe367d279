package expr

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Projection is a parsed ProjectionExpression.
type Projection struct {
	refs  Refs
	order []ref
	paths []path
}

// ParseProjection parses a ProjectionExpression.
func ParseProjection(text string) (*Projection, error) {
	if err := checkText(projectionExpression, text); err != nil {
		return nil, err
	}
	p := newParser(projectionExpression, text)
	var paths []path
	for more := true; more; more = p.accept(',') {
		paths = append(paths, p.path())
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return &Projection{p.refs, p.order, paths}, nil
}

// Refs returns the placeholders used.
func (p *Projection) Refs() Refs { return p.refs }

// Bind puts names in, and checks overlaps of paths.
func (p *Projection) Bind(names Names) (Selection, error) {
	b, _ := p.refs.bind(names, item.Item{})
	for _, r := range p.order {
		if message := b.undefined(p.refs, r); message != "" {
			return Selection{}, invalid(projectionExpression, message)
		}
	}
	if message := b.checkApart(p.paths); message != "" {
		return Selection{}, invalid(projectionExpression, message)
	}
	return Selection{p.paths, b}, nil
}

// Selection is a projection with its names.
type Selection struct {
	paths   []path
	binding binding
}

// Of returns what is selected of the item, in maps and lists that have nothing else; elements of a list keep their order.
func (s Selection) Of(it item.Item) item.Item {
	var room [16]item.Attr
	attrs := room[:0]
	for _, p := range s.paths {
		name := s.binding.name(&p[0])
		v := it.Get(name)
		if len(p) > 1 { // the same for each path with this name
			v = s.binding.part(v, s.binding.below(s.paths, 0, name, -1), 1)
		}
		attrs = append(attrs, item.Attr{Name: name, Value: v})
	}
	return item.Of(attrs...)
}

// below returns those of the paths whose step at that depth is the index, or if that is -1 the name.
func (b *binding) below(paths []path, depth int, name string, index int) []path {
	var list []path
	for _, p := range paths {
		if t := &p[depth]; t.index == index && (index >= 0 || b.name(t) == name) {
			list = append(list, p)
		}
	}
	return list
}

// part returns what the paths, which all lead to v in depth steps, select of it; Missing if that is nothing.
func (b *binding) part(v item.Value, paths []path, depth int) item.Value {
	switch {
	case len(paths) == 0:
		return item.Value{}
	case len(paths[0]) == depth: // it is the only one: no two overlap
		return v
	}
	switch v.Kind() {
	case item.M:
		var attrs []item.Attr
		for name, e := range v.Item().All() {
			attrs = append(attrs, item.Attr{Name: name, Value: b.part(e, b.below(paths, depth, name, -1), depth+1)})
		}
		if part := item.Of(attrs...); part.Len() > 0 {
			return item.Map(part)
		}
	case item.L:
		var list []item.Value
		i := 0
		for e := range v.Elements() {
			if part := b.part(e, b.below(paths, depth, "", i), depth+1); part.Exists() {
				list = append(list, part)
			}
			i++
		}
		if len(list) > 0 {
			return item.List(list...)
		}
	default: // nothing is inside
	}
	return item.Value{}
}

// CheckScalars returns the error if the selection goes inside one of the key attributes named, as pk.a does. label is
// what the error calls it: "Key" for those of the table, "IndexKey" for those of its indexes.
func (s Selection) CheckScalars(label string, keys ...string) error {
	return s.binding.checkScalars(s.paths, label, keys)
}

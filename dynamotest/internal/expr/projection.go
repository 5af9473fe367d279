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

// Refs returns the placeholders of the projection.
func (p *Projection) Refs() Refs { return p.refs }

// Bind puts in names, and checks that no two paths overlap.
func (p *Projection) Bind(names Names) (Selection, error) {
	b, _ := p.refs.bind(names, item.Item{})
	for _, r := range p.order {
		if message := b.undefined(p.refs, r); message != "" {
			return Selection{}, invalid(projectionExpression, message)
		}
	}
	if message := b.checkDisjoint(p.paths); message != "" {
		return Selection{}, invalid(projectionExpression, message)
	}
	return Selection{p.paths, b}, nil
}

// Selection is a projection with its names.
type Selection struct {
	paths   []path
	binding binding
}

// Of returns the selected part of the item. Its maps and lists have the selected values only;
// elements of a list keep their order.
func (s Selection) Of(it item.Item) item.Item {
	var room [16]item.Attr
	attrs := room[:0]
	for _, p := range s.paths {
		name := s.binding.name(&p[0])
		v := it.Get(name)
		if len(p) > 1 { // equal for all paths with this name
			v = s.binding.part(v, s.binding.below(s.paths, 0, name, -1), 1)
		}
		attrs = append(attrs, item.Attr{Name: name, Value: v})
	}
	return item.Of(attrs...)
}

// below returns the paths whose step at that depth is the index, or the name if index is -1.
func (b *binding) below(paths []path, depth int, name string, index int) []path {
	var list []path
	for _, p := range paths {
		if t := &p[depth]; t.index == index && (index >= 0 || b.name(t) == name) {
			list = append(list, p)
		}
	}
	return list
}

// part returns the part of v that the paths select, or Missing. The first depth steps of all paths
// lead to v.
func (b *binding) part(v item.Value, paths []path, depth int) item.Value {
	switch {
	case len(paths) == 0:
		return item.Value{}
	case len(paths[0]) == depth: // the only path, because no two overlap
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
	default: // a scalar or a set has no parts
	}
	return item.Value{}
}

// CheckScalars returns an error if a path leads inside one of the named key attributes, as pk.a
// does. label is the term in the error: "Key" for keys of the table, "IndexKey" for keys of an
// index.
func (s Selection) CheckScalars(label string, keys ...string) error {
	return s.binding.checkScalars(s.paths, label, keys)
}

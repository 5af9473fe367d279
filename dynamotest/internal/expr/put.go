package expr

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// sort orders values by ascending paths, and then removals by descending paths. So no removal moves
// an element that a later edit refers to, and elements beyond a list's end are appended in the
// order of their indexes.
func (c *Change) sort(edits []edit) {
	slices.SortFunc(edits, func(x, y edit) int {
		if x.value.Exists() != y.value.Exists() {
			if x.value.Exists() {
				return -1
			}
			return 1
		}
		order := c.binding.order(x.target, y.target)
		if !x.value.Exists() {
			return -order
		}
		return order
	})
}

// order compares two paths step by step.
func (b *binding) order(x, y path) int {
	for i := range min(len(x), len(y)) {
		s, t := &x[i], &y[i]
		order := cmp.Compare(s.index, t.index)
		if order == 0 && s.index < 0 {
			order = cmp.Compare(b.name(s), b.name(t))
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(x), len(y))
}

// put returns the item with the edits applied.
func (c *Change) put(it item.Item, edits []edit) (item.Item, error) {
	var room [24]item.Attr
	attrs := it.Attrs(room[:0])
	for _, e := range edits {
		name, v := c.binding.name(&e.target[0]), e.value
		if len(e.target) > 1 {
			if len(e.target)-1+v.Depth() >= item.MaxDepth {
				return item.Item{}, item.TooDeep()
			}
			top, ok := item.Value{}, false
			for i := len(attrs) - 1; i >= 0 && !ok; i-- { // the last attribute of a name is the valid one
				if attrs[i].Name == name {
					top, ok = attrs[i].Value, true
				}
			}
			var err error
			if v, err = c.binding.putInto(top, e.target[1:], v); err != nil {
				return item.Item{}, err
			}
		}
		attrs = append(attrs, item.Attr{Name: name, Value: v})
	}
	return item.Of(attrs...), nil
}

// putInto returns the map or list with v at the path, or without the value at the path if v is
// Missing.
func (b *binding) putInto(whole item.Value, p path, v item.Value) (item.Value, error) {
	s := &p[0]
	switch {
	case s.index < 0 && whole.Kind() == item.M:
		if len(p) > 1 {
			var err error
			if v, err = b.putInto(whole.Item().Get(b.name(s)), p[1:], v); err != nil {
				return v, err
			}
		}
		return item.Map(whole.Item().With(b.name(s), v)), nil
	case s.index >= 0 && whole.Kind() == item.L:
		list := slices.Collect(whole.Elements())
		if len(p) > 1 {
			var err error
			if v, err = b.putInto(whole.Index(s.index), p[1:], v); err != nil {
				return v, err
			}
		}
		switch {
		case s.index < len(list) && v.Exists():
			list[s.index] = v
		case s.index < len(list):
			list = slices.Delete(list, s.index, s.index+1)
		case v.Exists():
			list = append(list, v)
		}
		return item.List(list...), nil
	default:
		return v, badPath()
	}
}

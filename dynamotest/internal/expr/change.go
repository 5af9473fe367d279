package expr

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Change is an update with its names and values.
type Change struct {
	update  *Update
	binding binding
}

// edit is what an action comes to: a value in its place, or none (Missing).
type edit struct {
	target path
	value  item.Value
}

// Apply returns the item as changed. If there is no item yet, old is the zero Item and the new one begins with key; it
// stays the zero Item if the update only removes. The item's size is not checked.
//
// All values are taken from the old item, all indexes are those of its lists. What is set beyond the end of a list is
// put at its end, in the order of the indexes.
func (c Change) Apply(old, key item.Item) (item.Item, error) {
	there := old != item.Item{}
	if !there {
		if !c.update.creates {
			return item.Item{}, nil
		}
		old = key
	}
	var room [8]edit
	edits, nested := room[:0], false
	for i := range c.update.actions {
		e, skip, err := c.edit(&c.update.actions[i], old, there)
		if err != nil {
			return item.Item{}, err
		}
		if !skip {
			edits = append(edits, e)
			nested = nested || len(e.target) > 1
		}
	}
	if nested {
		c.sort(edits)
	}
	return c.put(old, edits)
}

// edit returns what the action comes to. skip is true if there is nothing to do.
func (c *Change) edit(a *action, old item.Item, there bool) (e edit, skip bool, err error) {
	e.target = a.target
	switch a.op {
	case set:
		e.value, err = c.result(&a.value, old)
		return e, false, err
	case remove:
		return e, !there, nil
	}
	now, by := c.binding.get(old, a.target), c.binding.values[a.value.slot]
	switch {
	case !now.Exists() && a.op == add:
		e.value = by
	case !now.Exists():
		skip = !there || len(a.target) == 1 // the path may lead nowhere
	case now.Kind() != by.Kind():
		err = wrongType()
	case a.op == add && by.Kind() == item.N:
		e.value, err = item.Add(now, by)
	case a.op == add:
		e.value = item.Union(now, by)
	default:
		e.value = item.Minus(now, by)
	}
	return e, skip, err
}

func wrongType() error {
	return item.Invalid("An operand in the update expression has an incorrect data type")
}

// result returns what an operand of SET is worth.
func (c *Change) result(x *operand, old item.Item) (item.Value, error) {
	switch x.op {
	case opValue:
		return c.binding.values[x.slot], nil
	case opPath:
		v := c.binding.get(old, x.path)
		if !v.Exists() {
			return v, item.Invalid("The provided expression refers to an attribute that does not exist in the item")
		}
		return v, nil
	case opIfNotExists:
		if v := c.binding.get(old, x.args[0].path); v.Exists() {
			return v, nil
		}
		return c.result(&x.args[1], old)
	}
	left, err := c.result(&x.args[0], old)
	if err != nil {
		return left, err
	}
	right, err := c.result(&x.args[1], old)
	if err != nil {
		return right, err
	}
	want := item.N
	if x.op == opListAppend {
		want = item.L
	}
	switch {
	case left.Kind() != want || right.Kind() != want:
		return left, wrongType()
	case x.op == opListAppend:
		return item.List(slices.AppendSeq(slices.Collect(left.Elements()), right.Elements())...), nil
	case x.op == opPlus:
		return item.Add(left, right)
	default:
		return item.Sub(left, right)
	}
}

// sort puts values by ascending paths and after them what is removed by descending ones, so that no removal moves an
// element that is still to be found, and what is put at a list's end comes in the order of the indexes.
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

// put returns the item with the edits.
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
			for i := len(attrs) - 1; i >= 0 && !ok; i-- { // the last one counts
				if attrs[i].Name == name {
					top, ok = attrs[i].Value, true
				}
			}
			var err error
			if v, err = c.binding.inside(top, e.target[1:], v); err != nil {
				return item.Item{}, err
			}
		}
		attrs = append(attrs, item.Attr{Name: name, Value: v})
	}
	return item.Of(attrs...), nil
}

// inside returns the map or list with v where the path leads to, or without what is there if v is Missing.
func (b *binding) inside(whole item.Value, p path, v item.Value) (item.Value, error) {
	s := &p[0]
	switch {
	case s.index < 0 && whole.Kind() == item.M:
		if len(p) > 1 {
			var err error
			if v, err = b.inside(whole.Item().Get(b.name(s)), p[1:], v); err != nil {
				return v, err
			}
		}
		return item.Map(whole.Item().With(b.name(s), v)), nil
	case s.index >= 0 && whole.Kind() == item.L:
		list := slices.Collect(whole.Elements())
		if len(p) > 1 {
			var err error
			if v, err = b.inside(whole.Index(s.index), p[1:], v); err != nil {
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
		return v, item.Invalid("The document path provided in the update expression is invalid for update")
	}
}

// CheckKeys returns the error if the update changes one of the key attributes named.
func (c Change) CheckKeys(keys ...string) error {
	for _, key := range keys {
		for _, p := range c.update.targets {
			if c.binding.name(&p[0]) == key {
				return item.Invalid("One or more parameter values were invalid: Cannot update attribute " + key + ". This attribute is part of the key")
			}
		}
	}
	return nil
}

// CheckScalars returns the error if the update goes inside one of the key attributes named, as pk.a does. label is what
// the error calls it: "Key" for those of the table, "IndexKey" for those of its indexes.
func (c Change) CheckScalars(label string, keys ...string) error {
	return c.binding.checkScalars(c.update.paths, label, keys)
}

// Touched returns the selection of the paths that the update changes: of the old item it is ReturnValues' UPDATED_OLD,
// of the new one UPDATED_NEW.
func (c Change) Touched() Selection { return Selection{c.update.targets, c.binding} }

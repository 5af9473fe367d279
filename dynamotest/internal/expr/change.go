package expr

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Change is an update with its names and values.
type Change struct {
	update  *Update
	binding binding
}

// edit is the effect of one action: a new value at a path, or Missing to remove the value.
type edit struct {
	target path
	value  item.Value
}

// Apply returns the changed item. If the table has no item yet, old is the zero Item and the new
// item begins with key; it stays the zero Item if the update has REMOVE and DELETE actions only.
// Apply does not check the item's size.
//
// All operands are values of the old item, and all indexes are those of its lists. Elements that
// are set beyond the end of a list are appended, in the order of their indexes.
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

// edit returns the effect of an action. skip is true if the action has no effect.
func (c *Change) edit(a *action, old item.Item, there bool) (e edit, skip bool, err error) {
	e.target = a.target
	switch a.op {
	case set:
		e.value, err = c.result(&a.value, old)
		return e, false, err
	case remove:
		skip, err = c.nothingToRemove(a.target, old, there)
		return e, skip, err
	default:
		e.value, skip, err = c.combine(a, old, there)
		return e, skip, err
	}
}

// nothingToRemove reports whether the item has no value at the path. If there is an item, the list
// or map that would contain the value must exist.
func (c *Change) nothingToRemove(target path, old item.Item, there bool) (bool, error) {
	last := len(target) - 1
	switch {
	case !there:
		return true, nil
	case c.binding.get(old, target).Exists():
		return false, nil
	case last == 0:
		return true, nil
	}
	want := item.M
	if target[last].index >= 0 {
		want = item.L
	}
	if c.binding.get(old, target[:last]).Kind() != want {
		return true, badPath()
	}
	return true, nil
}

// combine returns the result of ADD or DELETE with the present value.
func (c *Change) combine(a *action, old item.Item, there bool) (v item.Value, skip bool, err error) {
	now, by := c.binding.get(old, a.target), c.binding.values[a.value.slot]
	switch {
	case !now.Exists() && a.op == add:
		return by, false, nil
	case !now.Exists():
		skip, err = c.nothingToRemove(a.target, old, there)
		return now, skip, err
	case now.Kind() != by.Kind():
		return now, false, wrongType()
	case a.op == add && by.Kind() == item.N:
		v, err = item.Add(now, by)
		return v, false, err
	case a.op == add:
		return item.Union(now, by), false, nil
	default:
		return item.Minus(now, by), false, nil
	}
}

func badPath() error {
	return item.Invalid("The document path provided in the update expression is invalid for update")
}

func wrongType() error {
	return item.Invalid("An operand in the update expression has an incorrect data type")
}

// result returns the value of an operand of SET.
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
	default:
		return c.calculate(x, old)
	}
}

// calculate returns the result of +, - or list_append.
func (c *Change) calculate(x *operand, old item.Item) (item.Value, error) {
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

// CheckKeys returns an error if the update changes one of the named key attributes.
func (c Change) CheckKeys(keys ...string) error {
	for _, key := range keys {
		for _, p := range c.update.targets {
			if c.binding.name(&p[0]) == key {
				return item.Invalid("One or more parameter values were invalid: Cannot update attribute " + key +
					". This attribute is part of the key")
			}
		}
	}
	return nil
}

// CheckScalars returns an error if a path leads inside one of the named key attributes, as pk.a
// does. label is the term in the error: "Key" for keys of the table, "IndexKey" for keys of an
// index.
func (c Change) CheckScalars(label string, keys ...string) error {
	return c.binding.checkScalars(c.update.paths, label, keys)
}

// Touched returns the selection of the paths that the update changes. Applied to the old item it
// gives UPDATED_OLD, applied to the new item UPDATED_NEW.
func (c Change) Touched() Selection { return Selection{c.update.targets, c.binding} }

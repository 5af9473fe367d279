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
		skip, err = c.nothing(a.target, old, there)
		return e, skip, err
	default:
		e.value, skip, err = c.combine(a, old, there)
		return e, skip, err
	}
}

// nothing tells whether there is nothing to remove. The place where it would be must exist, if there is an item at all.
func (c *Change) nothing(target path, old item.Item, there bool) (bool, error) {
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

// combine returns what ADD and DELETE make of the value that is there.
func (c *Change) combine(a *action, old item.Item, there bool) (v item.Value, skip bool, err error) {
	now, by := c.binding.get(old, a.target), c.binding.values[a.value.slot]
	switch {
	case !now.Exists() && a.op == add:
		return by, false, nil
	case !now.Exists():
		skip, err = c.nothing(a.target, old, there)
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
	default:
		return c.join(x, old)
	}
}

// join returns what +, - and list_append give.
func (c *Change) join(x *operand, old item.Item) (item.Value, error) {
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

package expr

import (
	"encoding/base64"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Test is a condition with its names and values.
type Test struct {
	condition *Condition
	binding   binding
}

// Holds reports whether the condition is true for the item. The zero Item stands for an item that
// does not exist. A comparison with a missing value or a value of another type is false, except <>,
// which is true.
func (t Test) Holds(it item.Item) bool { return t.binding.holds(&t.condition.root, it) }

// CheckScalars returns an error if a path leads inside one of the named key attributes, as pk.a
// does. label is the term in the error: "Key" for keys of the table, "IndexKey" for keys of an
// index.
func (t Test) CheckScalars(label string, keys ...string) error {
	return t.binding.checkScalars(t.condition.paths, label, keys)
}

// CheckFilter returns an error if the condition, a query's filter, has one of the named key
// attributes.
func (t Test) CheckFilter(keys ...string) error {
	for _, key := range keys {
		for _, p := range t.condition.paths {
			if t.binding.name(&p[0]) == key {
				return item.Invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: " + key)
			}
		}
	}
	return nil
}

func (b *binding) holds(n *node, it item.Item) bool {
	switch n.op {
	case opAnd:
		return b.holds(&n.children[0], it) && b.holds(&n.children[1], it)
	case opOr:
		return b.holds(&n.children[0], it) || b.holds(&n.children[1], it)
	case opNot:
		return !b.holds(&n.children[0], it)
	default:
		return b.compare(n, it)
	}
}

// compare reports whether a condition on operands is true.
func (b *binding) compare(n *node, it item.Item) bool {
	x := b.value(&n.args[0], it)
	switch n.op {
	case opExists:
		return x.Exists()
	case opNotExists:
		return !x.Exists()
	case opBetween:
		return ordered(opGreaterEqual, x, b.value(&n.args[1], it)) && ordered(opLessEqual, x, b.value(&n.args[2], it))
	case opIn:
		for i := range n.args[1:] {
			if equal(x, b.value(&n.args[i+1], it)) {
				return true
			}
		}
		return false
	default:
		return n.op.holds(x, b.value(&n.args[1], it))
	}
}

// holds reports whether a condition on two operands is true.
func (o op) holds(x, y item.Value) bool {
	switch o {
	case opEqual:
		return equal(x, y)
	case opNotEqual:
		return !equal(x, y)
	case opType:
		return x.Exists() && x.Kind().String() == y.Text()
	case opBeginsWith:
		return x.Kind() == y.Kind() && (x.Kind() == item.S || x.Kind() == item.B) && strings.HasPrefix(x.Text(), y.Text())
	case opContains:
		return contains(x, y)
	default:
		return ordered(o, x, y)
	}
}

// value returns the value of a condition's operand.
func (b *binding) value(x *operand, it item.Item) item.Value {
	switch x.op {
	case opPath:
		return b.get(it, x.path)
	case opValue:
		return b.values[x.slot]
	default: // opSize
		n := b.value(&x.args[0], it).Len()
		if n < 0 {
			return item.Value{}
		}
		return item.Int(int64(n))
	}
}

func equal(x, y item.Value) bool { return x.Exists() && x == y }

func ordered(o op, x, y item.Value) bool {
	order, ok := item.Compare(x, y)
	if !ok {
		return false
	}
	switch o {
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	default:
		return order >= 0
	}
}

// contains reports whether y is a part of x: a substring, or an element of a set or list.
func contains(x, y item.Value) bool {
	switch x.Kind() {
	case item.S, item.B:
		return x.Kind() == y.Kind() && strings.Contains(x.Text(), y.Text())
	default:
		return x.Contains(y)
	}
}

// bound returns a bound of BETWEEN in the form of error texts: {N:1}.
func bound(v item.Value) string {
	text := v.Text()
	if v.Kind() == item.B {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return "{" + v.Kind().String() + ":" + text + "}"
}

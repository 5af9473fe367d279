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

// Holds tells whether the condition is true of the item. One that is not there is the zero Item. A comparison with
// something missing or of another type is false, except that it is not equal (<>).
func (t Test) Holds(it item.Item) bool { return t.binding.holds(&t.condition.root, it) }

// CheckScalars returns the error if the condition goes inside one of the key attributes named, as pk.a does. label is
// what the error calls it: "Key" for those of the table, "IndexKey" for those of its indexes.
func (t Test) CheckScalars(label string, keys ...string) error {
	return t.binding.checkScalars(t.condition.paths, label, keys)
}

// CheckFilter returns the error if the condition, a query's filter, is about one of the key attributes named.
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
		return b.holds(&n.kids[0], it) && b.holds(&n.kids[1], it)
	case opOr:
		return b.holds(&n.kids[0], it) || b.holds(&n.kids[1], it)
	case opNot:
		return !b.holds(&n.kids[0], it)
	default:
		return b.compare(n, it)
	}
}

// compare tells whether a condition made of operands is true.
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

// holds tells whether a condition of two operands is true.
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

// value returns what a condition's operand is worth.
func (b *binding) value(x *operand, it item.Item) item.Value {
	switch x.op {
	case opPath:
		return b.get(it, x.path)
	case opValue:
		return b.values[x.slot]
	default: // size
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

// contains tells whether y is a part of x: characters or bytes of it, or an element.
func contains(x, y item.Value) bool {
	switch x.Kind() {
	case item.S, item.B:
		return x.Kind() == y.Kind() && strings.Contains(x.Text(), y.Text())
	default:
		return x.Contains(y)
	}
}

// bound shows a bound of BETWEEN as messages have it: {N:1}.
func bound(v item.Value) string {
	text := v.Text()
	if v.Kind() == item.B {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return "{" + v.Kind().String() + ":" + text + "}"
}

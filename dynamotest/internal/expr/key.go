package expr

import (
	"bytes"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// KeyCondition is a parsed KeyConditionExpression.
type KeyCondition struct{ condition *Condition }

// ParseKey parses a KeyConditionExpression.
func ParseKey(text string) (*KeyCondition, error) {
	c, err := parseCondition(keyExpression, text)
	if err != nil {
		return nil, err
	}
	return &KeyCondition{c}, nil
}

// Refs returns the placeholders used.
func (k *KeyCondition) Refs() Refs { return k.condition.refs }

// Bind puts names and values in, and checks the types of operands.
func (k *KeyCondition) Bind(names Names, values item.Item) (Keys, error) {
	t, err := k.condition.Bind(names, values)
	return Keys{test: t}, err
}

// Keys is a key condition with its names and values.
type Keys struct{ test Test }

// keyTest is the condition on one attribute.
type keyTest struct {
	name string
	op   op
	args []item.Value
}

// Check returns the error if the condition is one that keys cannot have.
func (k Keys) Check() error {
	_, err := k.tests()
	return err
}

// tests returns the conditions, one for each attribute.
func (k Keys) tests() ([]keyTest, error) {
	list, message := k.test.binding.keyTests(&k.test.condition.root, nil)
	if message != "" {
		return nil, item.Invalid(message)
	}
	if len(list) > 2 {
		return nil, item.Invalid("Conditions can be of length 1 or 2 only")
	}
	return list, nil
}

// keyTests appends the conditions on single attributes that n joins by AND. message is what is wrong, "" if nothing is.
func (b *binding) keyTests(n *node, list []keyTest) (tests []keyTest, message string) {
	switch n.op {
	case opOr, opNot, opIn, opNotEqual, opExists, opNotExists, opType, opContains:
		return nil, "Invalid operator used in KeyConditionExpression: " + n.op.String()
	case opAnd:
		for i := range n.kids {
			if list, message = b.keyTests(&n.kids[i], list); message != "" {
				return nil, message
			}
		}
		return list, ""
	case opBetween, opBeginsWith:
		if n.args[0].op != opPath && n.args[0].op != opSize {
			return nil, "Invalid condition in KeyConditionExpression: " + n.op.String() + " operator must have the key attribute as its first operand"
		}
	}
	t, message := b.keyTest(n)
	if message != "" {
		return nil, message
	}
	for _, have := range list {
		if have.name == t.name {
			return nil, "KeyConditionExpressions must only contain one condition per key"
		}
	}
	return append(list, t), ""
}

// keyTest returns the condition on one attribute that n is.
func (b *binding) keyTest(n *node) (keyTest, string) {
	t, found := keyTest{op: n.op}, false
	for i := range n.args {
		switch x := &n.args[i]; {
		case x.op == opValue:
			t.args = append(t.args, b.values[x.slot])
		case x.op == opSize:
			return t, "KeyConditionExpressions cannot contain nested operations"
		case found:
			return t, "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
		case len(x.path) > 1:
			return t, "KeyConditionExpressions cannot have conditions on nested attributes"
		default:
			t.name, found = b.name(&x.path[0]), true
			if i > 0 {
				t.op = flipped(n.op)
			}
		}
	}
	if !found {
		return t, "Invalid condition in KeyConditionExpression: No key attribute specified"
	}
	return t, ""
}

// flipped returns the operator for operands that change sides.
func flipped(o op) op {
	switch o {
	case opLess:
		return opGreater
	case opLessEqual:
		return opGreaterEqual
	case opGreater:
		return opLess
	case opGreaterEqual:
		return opLessEqual
	default:
		return o
	}
}

// KeyAttr is an attribute of a key and its kind: S, N or B.
type KeyAttr struct {
	Name string
	Kind item.Kind
}

// Range says which keys a query asks for.
type Range struct {
	Hash   item.Value // the partition key
	Lo, Hi []byte     // what item.AppendKey gives for the sort key is from Lo on and below Hi; nil is no bound
}

// Contains tells whether the sort key, as item.AppendKey gives it, is in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(r.Lo, key) <= 0 && (r.Hi == nil || bytes.Compare(key, r.Hi) < 0)
}

// Range returns which keys of a table or an index are asked for. The name of sort is "" if there is no sort key.
func (k Keys) Range(hash, sort KeyAttr) (Range, error) {
	tests, err := k.tests()
	if err != nil {
		return Range{}, err
	}
	if sort.Name == "" && len(tests) > 1 {
		return Range{}, item.Invalid("Query key condition not supported")
	}
	t, err := find(tests, hash, true)
	if err != nil {
		return Range{}, err
	}
	if t.op != opEqual {
		return Range{}, item.Invalid("Query key condition not supported")
	}
	r := Range{Hash: t.args[0]}
	if sort.Name == "" {
		return r, nil
	}
	t, err = find(tests, sort, len(tests) > 1)
	if err != nil || t.name == "" {
		return r, err
	}
	r.Lo, r.Hi = t.bounds()
	return r, nil
}

// find returns the condition on the attribute, the zero keyTest if there is none and none is needed.
func find(tests []keyTest, attr KeyAttr, needed bool) (keyTest, error) {
	for _, t := range tests {
		if t.name != attr.Name {
			continue
		}
		for _, v := range t.args {
			if v.Kind() != attr.Kind {
				return keyTest{}, item.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
			}
		}
		return t, nil
	}
	if needed {
		return keyTest{}, item.Invalid("Query condition missed key schema element: " + attr.Name)
	}
	return keyTest{}, nil
}

// bounds returns from where on and up to where keys fulfil the condition.
func (t *keyTest) bounds() (lo, hi []byte) {
	first := item.AppendKey(nil, t.args[0])
	switch t.op {
	case opLess:
		return nil, first
	case opLessEqual:
		return nil, after(first)
	case opGreater:
		return after(first), nil
	case opGreaterEqual:
		return first, nil
	case opBetween:
		return first, after(item.AppendKey(nil, t.args[1]))
	case opBeginsWith:
		first = item.AppendKeyPrefix(nil, t.args[0])
		return first, after(first)
	default:
		return first, after(first)
	}
}

// after returns the first byte string that is greater than all that begin with key, nil if there is none.
func after(key []byte) []byte {
	for n := len(key); n > 0; n-- {
		if key[n-1] < 0xff {
			next := append([]byte(nil), key[:n]...)
			next[n-1]++
			return next
		}
	}
	return nil
}

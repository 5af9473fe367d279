package expr

import "github.com/weirhq/weir/dynamotest/internal/item"

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

// Refs returns the placeholders of the key condition.
func (k *KeyCondition) Refs() Refs { return k.condition.refs }

// Bind puts in names and values, and checks the types of operands.
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

// Check returns an error if the condition is not of the form that a key condition must have.
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

// keyTests appends the conditions on single attributes that n joins by AND. message is the text of
// the first error, or "".
func (b *binding) keyTests(n *node, list []keyTest) (tests []keyTest, message string) {
	switch n.op {
	case opOr, opNot, opIn, opNotEqual, opExists, opNotExists, opType, opContains:
		return nil, "Invalid operator used in KeyConditionExpression: " + n.op.String()
	case opAnd:
		for i := range n.children {
			if list, message = b.keyTests(&n.children[i], list); message != "" {
				return nil, message
			}
		}
		return list, ""
	case opBetween, opBeginsWith:
		if n.args[0].op != opPath && n.args[0].op != opSize {
			return nil, "Invalid condition in KeyConditionExpression: " + n.op.String() +
				" operator must have the key attribute as its first operand"
		}
	default: // comparisons
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

// keyTest returns n as a condition on one attribute.
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

// flipped returns the operator for exchanged operands.
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

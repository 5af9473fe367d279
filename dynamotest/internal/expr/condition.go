package expr

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
)

// The names of the parameters in error texts.
const (
	conditionExpression  = "ConditionExpression"
	filterExpression     = "FilterExpression"
	keyExpression        = "KeyConditionExpression"
	projectionExpression = "ProjectionExpression"
	updateExpression     = "UpdateExpression"
)

// Condition is a parsed condition, filter or key condition.
type Condition struct {
	kind   string
	refs   Refs
	root   node
	leaves []leaf
	paths  []path
}

// node is a condition. AND, OR and NOT have children, which are conditions. All other
// nodes have operands.
type node struct {
	op       op
	children []node
	args     []operand
}

// leaf is a condition on operands, as Bind checks it once names and values are known.
type leaf struct {
	order []ref  // its placeholders in the order of the text
	count string // the message for a wrong number of operands, or ""
	calls []call // its functions and operators, inner ones first
}

// ParseCondition parses a ConditionExpression.
func ParseCondition(text string) (*Condition, error) {
	return parseCondition(conditionExpression, text)
}

// ParseFilter parses a FilterExpression.
func ParseFilter(text string) (*Condition, error) { return parseCondition(filterExpression, text) }

func parseCondition(kind, text string) (*Condition, error) {
	if err := checkText(kind, text); err != nil {
		return nil, err
	}
	p := newParser(kind, text, "AND", "OR", "NOT", "BETWEEN", "IN")
	p.bracketedPaths = true
	root := p.condition(p.or())
	p.checkParens()
	if err := p.finish(); err != nil {
		return nil, err
	}
	return &Condition{kind, p.refs, root, p.leaves, root.paths(nil)}, nil
}

// paths appends the paths in the condition.
func (n *node) paths(to []path) []path {
	for i := range n.children {
		to = n.children[i].paths(to)
	}
	return pathsOf(n.args, to)
}

func pathsOf(args []operand, to []path) []path {
	for _, x := range args {
		if x.op == opPath {
			to = append(to, x.path)
		}
		to = pathsOf(x.args, to)
	}
	return to
}

// Refs returns the placeholders of the condition.
func (c *Condition) Refs() Refs { return c.refs }

// Bind puts in names and values, and checks the types of operands.
func (c *Condition) Bind(names Names, values item.Item) (Test, error) {
	b, complete := c.refs.bind(names, values)
	for i := range c.leaves {
		if message := b.checkLeaf(c.refs, &c.leaves[i], complete); message != "" {
			return Test{}, invalid(c.kind, message)
		}
	}
	return Test{c, b}, nil
}

// checkLeaf returns the message for the first error of a leaf, or "".
func (b *binding) checkLeaf(refs Refs, l *leaf, complete bool) string {
	if !complete {
		for _, r := range l.order {
			if message := b.undefined(refs, r); message != "" {
				return message
			}
		}
	}
	if l.count != "" {
		return l.count
	}
	for _, c := range l.calls {
		if c.op != opBetween && c.op != opIn && len(c.args) == 2 && c.args[0].op == opPath && c.args[1].op == opPath &&
			b.same(c.args[0].path, c.args[1].path) {
			return "The first operand must be distinct from the remaining operands for this operator or function; operator: " +
				c.op.String() + ", first operand: " + b.show(c.args[0].path)
		}
	}
	for _, c := range l.calls {
		if message := b.checkKinds(c); message != "" {
			return message
		}
		if c.op == opBetween {
			if message := b.checkBounds(c.args[1], c.args[2]); message != "" {
				return message
			}
		}
	}
	return ""
}

func (b *binding) same(x, y path) bool { return len(x) == len(y) && b.relate(x, y) == overlap }

// checkBounds checks the bounds of BETWEEN if both are values of the request.
func (b *binding) checkBounds(low, high operand) string {
	if low.op != opValue || high.op != opValue {
		return ""
	}
	x, y := b.values[low.slot], b.values[high.slot]
	both := "lower bound operand: AttributeValue: " + bound(x) + ", upper bound operand: AttributeValue: " + bound(y)
	order, ok := item.Compare(x, y)
	switch {
	case !ok:
		return "The BETWEEN operator requires same data type for lower and upper bounds; " + both
	case order > 0:
		return "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + both
	default:
		return ""
	}
}

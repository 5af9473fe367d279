package expr

import (
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// The names of the parameters, as messages have them.
const (
	conditionExpression  = "ConditionExpression"
	filterExpression     = "FilterExpression"
	keyExpression        = "KeyConditionExpression"
	projectionExpression = "ProjectionExpression"
	updateExpression     = "UpdateExpression"
)

// Condition is a parsed condition or filter.
type Condition struct {
	kind   string
	refs   Refs
	root   node
	leaves []leaf
	paths  []path
}

// node is a condition made of others (AND, OR, NOT) or of operands (the rest).
type node struct {
	op   op
	kids []node
	args []operand
}

// leaf is what there is to check, once names and values are known, of a condition made of operands.
type leaf struct {
	order []ref  // its placeholders as they come in the text
	count string // the message for a wrong number of operands
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
	for i := range n.kids {
		to = n.kids[i].paths(to)
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

// term is what stands where a condition or an operand can: which it is shows when the next token is read.
type term struct {
	isNode  bool
	node    node
	operand operand
}

// condition returns the condition that x must be.
func (p *parser) condition(x term) node {
	switch {
	case x.isNode:
	case x.operand.op == opSize || x.operand.op == opIfNotExists || x.operand.op == opListAppend:
		p.misused(x.operand.op)
	case x.operand.op != opUnknown:
		p.unexpected()
	}
	return x.node
}

func (p *parser) or() term {
	x := p.and()
	for p.keyword("OR") {
		x = p.join(opOr, x, p.and)
	}
	return x
}

func (p *parser) and() term {
	x := p.not()
	for p.keyword("AND") {
		x = p.join(opAnd, x, p.not)
	}
	return x
}

// join reads AND or OR and the condition after it.
func (p *parser) join(o op, x term, next func() term) term {
	left := p.condition(x)
	if p.take(); p.syntax != nil {
		return x
	}
	p.operators++
	right := p.condition(next())
	return term{isNode: true, node: node{op: o, kids: []node{left, right}}}
}

func (p *parser) not() term {
	if !p.acceptKeyword("NOT") {
		return p.comparison()
	}
	p.operators++
	kid := p.condition(p.not())
	return term{isNode: true, node: node{op: opNot, kids: []node{kid}}}
}

// comparison reads operands and what is between them, a function, or anything in brackets.
func (p *parser) comparison() term {
	x := p.term()
	o, arguments := opEqual, (func() []operand)(nil)
	switch p.peek() {
	case '=':
	case tokNE:
		o = opNotEqual
	case '<':
		o = opLess
	case tokLE:
		o = opLessEqual
	case '>':
		o = opGreater
	case tokGE:
		o = opGreaterEqual
	default:
		switch {
		case p.keyword("BETWEEN"):
			o, arguments = opBetween, p.bounds
		case p.keyword("IN"):
			o, arguments = opIn, p.list
		default:
			return p.whole(x)
		}
	}
	if x.isNode {
		if !x.node.op.condition() || x.node.op < opExists {
			p.unexpected()
			return x
		}
		x.operand.op = x.node.op // a function that is a condition: refused below
	}
	p.take()
	p.operators++
	args := []operand{x.operand}
	if arguments != nil {
		args = append(args, arguments()...)
	} else {
		args = append(args, p.operand())
	}
	for _, arg := range args {
		p.checkNested(o, arg.op)
	}
	return p.leaf(o, args)
}

// whole returns a term that nothing follows: functions that are conditions are one.
func (p *parser) whole(x term) term {
	if x.isNode || !x.operand.op.condition() {
		return x
	}
	p.calls = p.calls[:len(p.calls)-1] // leaf puts it back
	return p.leaf(x.operand.op, x.operand.args)
}

// leaf returns the condition of these operands, of which all placeholders and functions have been read.
func (p *parser) leaf(o op, args []operand) term {
	p.leaves = append(p.leaves, leaf{p.order, p.wrongCount, append(p.calls, call{o, args})})
	p.order, p.calls, p.wrongCount = nil, nil, ""
	return term{isNode: true, node: node{op: o, args: args}}
}

func (p *parser) term() term {
	if p.peek() != '(' {
		return term{operand: p.operand()}
	}
	p.take()
	x := p.or()
	p.expect(')')
	if !x.isNode && x.operand.op == opPath {
		x.operand.path = p.steps(x.operand.path)
	}
	return x
}

// bounds reads what follows BETWEEN.
func (p *parser) bounds() []operand {
	low := p.operand()
	if !p.acceptKeyword("AND") {
		p.unexpected()
	}
	return []operand{low, p.operand()}
}

// list reads what follows IN.
func (p *parser) list() []operand {
	p.expect('(')
	var args []operand
	for more := true; more; more = p.accept(',') {
		args = append(args, p.operand())
	}
	p.expect(')')
	if len(args) > maxIn {
		p.count("The IN operator is provided with too many operands; number of operands: " + strconv.Itoa(len(args)))
	}
	return args
}

// checkParens notes brackets around nothing but brackets: ((a = b)).
func (p *parser) checkParens() {
	var open []int       // brackets that are open
	inner, end := -1, -1 // the bracket closed last
	for i, t := range p.tokens {
		switch t.kind {
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return // a syntax error
			}
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if inner == at+1 && end == i-1 {
				p.note(redundantParens, "The expression has redundant parentheses;")
			}
			inner, end = at, i
		}
	}
}

// Refs returns the placeholders used.
func (c *Condition) Refs() Refs { return c.refs }

// Bind puts names and values in, and checks the types of operands.
func (c *Condition) Bind(names Names, values item.Item) (Test, error) {
	b, complete := c.refs.bind(names, values)
	for i := range c.leaves {
		if message := b.checkLeaf(c.refs, &c.leaves[i], complete); message != "" {
			return Test{}, invalid(c.kind, message)
		}
	}
	return Test{c, b}, nil
}

// checkLeaf returns the message for what is wrong with a leaf, "" if nothing is.
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
		if c.op != opBetween && c.op != opIn && len(c.args) == 2 && c.args[0].op == opPath && c.args[1].op == opPath && b.same(c.args[0].path, c.args[1].path) {
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

// checkBounds checks the bounds of BETWEEN where both are values.
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

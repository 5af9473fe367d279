package expr

import (
	"strconv"
	"strings"
)

// term is a condition or an operand. The next token decides which of the two the grammar requires.
type term struct {
	isNode  bool
	node    node
	operand operand
}

// condition returns the condition in x. It notes an error if x is an operand.
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
	return term{isNode: true, node: node{op: o, children: []node{left, right}}}
}

func (p *parser) not() term {
	if !p.acceptKeyword("NOT") {
		return p.comparison()
	}
	p.operators++
	kid := p.condition(p.not())
	return term{isNode: true, node: node{op: opNot, children: []node{kid}}}
}

// comparison reads a comparison, a function, or a term in brackets.
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
			return p.complete(x)
		}
	}
	if x.isNode {
		if !x.node.op.condition() || x.node.op < opExists {
			p.unexpected()
			return x
		}
		x.operand.op = x.node.op // a function that is a condition: checkNested rejects it
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

// complete returns a term that no operator follows. A function that is a condition becomes a leaf.
func (p *parser) complete(x term) term {
	if x.isNode || !x.operand.op.condition() {
		return x
	}
	p.calls = p.calls[:len(p.calls)-1] // leaf appends it again
	return p.leaf(x.operand.op, x.operand.args)
}

// leaf returns the condition on args, with the placeholders and functions that were read since the
// last leaf.
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

// bounds reads the bounds of BETWEEN.
func (p *parser) bounds() []operand {
	low := p.operand()
	if !p.acceptKeyword("AND") {
		p.unexpected()
	}
	return []operand{low, p.operand()}
}

// list reads the operands of IN.
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

// opensList reports whether a bracket belongs to a function or to IN.
func (p *parser) opensList(bracket int) bool {
	if bracket == 0 || p.tokens[bracket-1].kind != tokWord {
		return false
	}
	t := p.tokens[bracket-1]
	switch strings.ToUpper(p.text[t.start:t.end]) {
	case "AND", "OR", "NOT", "BETWEEN":
		return false
	default:
		return true
	}
}

// checkParens notes brackets around brackets, as in ((a = b)).
func (p *parser) checkParens() {
	var open []int       // indexes of the open brackets
	inner, end := -1, -1 // start and end of the brackets that were closed last
	for i, t := range p.tokens {
		switch t.kind {
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return // finish returns the syntax error
			}
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if inner == at+1 && end == i-1 && !p.opensList(at) {
				p.note(redundantParens, "The expression has redundant parentheses;")
			}
			inner, end = at, i
		}
	}
}

package expr

import "strconv"

// operand is a path, a value of the request, or a function or operator with operands.
type operand struct {
	op   op
	path path      // of opPath
	slot int       // of opValue
	args []operand // of functions, and of + and -
}

// op is the kind of an operand or of a condition.
type op int

const (
	opPath op = iota
	opValue

	opSize // size(x)
	opIfNotExists
	opListAppend
	opPlus
	opMinus
	opUnknown // a function that does not exist; the expression is rejected

	opAnd
	opOr
	opNot
	opEqual
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opBetween
	opIn
	opExists
	opNotExists
	opType
	opBeginsWith
	opContains
)

// String returns the operator or function as it is written.
func (o op) String() string {
	return [...]string{
		"", "", "size", "if_not_exists", "list_append", "+", "-", "", "AND", "OR", "NOT", "=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN",
		"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains",
	}[o]
}

// function returns the function with that name, or opUnknown, and the number of its operands.
func function(name string) (o op, operands int) {
	switch name {
	case "size":
		return opSize, 1
	case "if_not_exists":
		return opIfNotExists, 2
	case "list_append":
		return opListAppend, 2
	case "attribute_exists":
		return opExists, 1
	case "attribute_not_exists":
		return opNotExists, 1
	case "attribute_type":
		return opType, 2
	case "begins_with":
		return opBeginsWith, 2
	case "contains":
		return opContains, 2
	default:
		return opUnknown, 0
	}
}

// condition reports whether the result of the function or operator is true or false.
func (o op) condition() bool { return o >= opAnd }

// call is a function or an operator with its operands. Bind checks the operands' types.
type call struct {
	op   op
	args []operand
}

// operand reads a path, a placeholder of a value, or a function, with or without brackets.
func (p *parser) operand() operand {
	if p.accept('(') {
		x := p.operand()
		p.expect(')')
		if x.op == opPath && p.bracketedPaths {
			x.path = p.steps(x.path)
		}
		return x
	}
	switch {
	case p.peek() == tokValue:
		return operand{op: opValue, slot: p.value()}
	case p.peek() == tokWord && p.tokens[p.at+1].kind == '(' && !p.keyword(p.keywords...):
		return p.function()
	default:
		return operand{op: opPath, path: p.path()}
	}
}

// function reads a function with its operands.
func (p *parser) function() operand {
	name := p.take()
	p.expect('(')
	p.operators++
	x := operand{}
	for more := true; more; more = p.accept(',') {
		x.args = append(x.args, p.operand())
	}
	p.expect(')')
	var want int
	if x.op, want = function(name); x.op == opUnknown {
		p.note(unknownFunction, "Invalid function name; function: "+name)
		return x
	}
	for _, arg := range x.args {
		p.checkNested(x.op, arg.op)
	}
	if len(x.args) != want {
		p.count("Incorrect number of operands for operator or function; operator or function: " + name + ", number of operands: " +
			strconv.Itoa(len(x.args)))
	}
	p.calls = append(p.calls, call{x.op, x.args})
	return x
}

// checkNested notes a function that must not be an operand of another: conditions may nest size,
// updates if_not_exists, and SET list_append.
func (p *parser) checkNested(outer, inner op) {
	allowed := inner == opPath || inner == opValue || inner == opUnknown || inner == opPlus || inner == opMinus
	if p.kind == updateExpression {
		allowed = allowed || inner == opIfNotExists || inner == opListAppend && outer != opListAppend
	} else {
		allowed = allowed || inner == opSize
	}
	if !allowed {
		p.misused(inner)
	}
}

func (p *parser) misused(o op) {
	p.note(misusedFunction, "The function is not allowed to be used this way in an expression; function: "+o.String())
}

// count notes the message for the first wrong number of operands in the leaf that is being read.
func (p *parser) count(message string) {
	if p.wrongCount == "" {
		p.wrongCount = message
	}
}

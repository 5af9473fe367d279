package expr

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Update is a parsed UpdateExpression.
type Update struct {
	refs    Refs
	actions []action
	leaf    leaf   // all placeholders and calls
	targets []path // the paths that the actions change
	paths   []path // all paths
	creates bool   // it has a SET or ADD action
}

// action is one action of an update.
type action struct {
	op     section
	target path
	value  operand // not of REMOVE
}

type section int

const (
	set section = iota
	remove
	add
	del
)

func (s section) String() string { return [...]string{"SET", "REMOVE", "ADD", "DELETE"}[s] }

// ParseUpdate parses an UpdateExpression.
func ParseUpdate(text string) (*Update, error) {
	if err := checkText(updateExpression, text); err != nil {
		return nil, err
	}
	p := newParser(updateExpression, text, "SET", "REMOVE", "ADD", "DELETE")
	u := &Update{}
	var seen [4]bool
	for more := true; more; more = p.peek() != tokEnd { // at least one section
		s, ok := p.section()
		if !ok {
			p.unexpected()
			break
		}
		if seen[s] {
			p.note(repeatedSection, `The "`+s.String()+`" section can only be used once in an update expression;`)
		}
		seen[s] = true
		for more := true; more; more = p.accept(',') {
			u.actions = append(u.actions, p.action(s))
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	u.refs, u.leaf, u.creates = p.refs, leaf{p.order, p.wrongCount, p.calls}, seen[set] || seen[add]
	for _, a := range u.actions {
		u.targets = append(u.targets, a.target)
		if a.op != remove {
			u.paths = pathsOf([]operand{a.value}, u.paths)
		}
	}
	u.paths = append(u.paths, u.targets...)
	return u, nil
}

func (p *parser) section() (section, bool) {
	for s := set; s <= del; s++ {
		if p.acceptKeyword(s.String()) {
			return s, true
		}
	}
	return 0, false
}

func (p *parser) action(s section) action {
	a := action{op: s, target: p.path()}
	switch s {
	case set:
		p.expect('=')
		a.value = p.assigned()
		if o := a.value.op; o != opPlus && o != opMinus {
			p.checkNested(opPath, o)
		}
	case add, del:
		a.value = operand{op: opValue, slot: p.value()}
	default: // REMOVE has no value
	}
	return a
}

// assigned reads the value of a SET action: an operand, or two operands with + or - between them,
// with or without brackets.
func (p *parser) assigned() operand {
	var x operand
	if p.accept('(') {
		x = p.assigned()
		p.expect(')')
	} else {
		x = p.operand()
	}
	o := opPlus
	switch p.peek() {
	case '+':
	case '-':
		o = opMinus
	default:
		return x
	}
	if x.op == opPlus || x.op == opMinus { // + and - have two operands
		p.unexpected()
		return x
	}
	p.take()
	p.operators++
	x = operand{op: o, args: []operand{x, p.operand()}}
	for _, arg := range x.args {
		p.checkNested(o, arg.op)
	}
	p.calls = append(p.calls, call{o, x.args})
	return x
}

// Refs returns the placeholders of the update.
func (u *Update) Refs() Refs { return u.refs }

// Bind puts in names and values, checks the types of operands, and checks that no two paths
// overlap.
func (u *Update) Bind(names Names, values item.Item) (Change, error) {
	b, complete := u.refs.bind(names, values)
	if message := u.check(&b, complete); message != "" {
		return Change{}, invalid(updateExpression, message)
	}
	return Change{u, b}, nil
}

// check returns the message for the first error of the update, or "".
func (u *Update) check(b *binding, complete bool) string {
	if !complete {
		for _, values := range []bool{false, true} { // names first
			for _, r := range u.leaf.order {
				if message := b.undefined(u.refs, r); r.value == values && message != "" {
					return message
				}
			}
		}
	}
	if message := b.checkDisjoint(u.targets); message != "" {
		return message
	}
	for _, a := range u.actions {
		if a.op == add || a.op == del {
			if message := checkOperand(a.op, b.values[a.value.slot].Kind()); message != "" {
				return message
			}
		}
	}
	if u.leaf.count != "" {
		return u.leaf.count
	}
	for _, c := range u.leaf.calls {
		if message := b.checkKinds(c); message != "" {
			return message
		}
	}
	return ""
}

// checkOperand checks the kind of the operand of ADD or DELETE.
func checkOperand(s section, k item.Kind) string {
	var name string
	switch k {
	case item.SS, item.NS, item.BS:
		return ""
	case item.N:
		if s == add {
			return ""
		}
		name = "NUMBER"
	case item.S:
		name = "STRING"
	case item.B:
		name = "BINARY"
	case item.BOOL:
		name = "BOOLEAN"
	case item.L:
		name = "LIST"
	case item.M:
		name = "MAP"
	default:
		name = k.String()
	}
	return "Incorrect operand type for operator or function; operator: " + s.String() + ", operand type: " + name
}

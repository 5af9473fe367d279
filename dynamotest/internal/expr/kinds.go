package expr

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// kindOf returns the kind of an operand, or Missing if it depends on the item.
func (b *binding) kindOf(x operand) item.Kind {
	switch x.op {
	case opValue:
		return b.values[x.slot].Kind()
	case opSize:
		return item.N
	default:
		return item.Missing
	}
}

// checkKinds returns the message for an operand of a kind that the function or operator does not
// accept, or "".
func (b *binding) checkKinds(c call) string {
	switch c.op {
	case opExists, opNotExists, opIfNotExists:
		if c.args[0].op != opPath {
			return "Operator or function requires a document path; operator or function: " + c.op.String()
		}
	case opBeginsWith:
		return b.only(c, item.S, item.B)
	case opSize:
		return b.only(c, item.S, item.B, item.M, item.L, item.SS, item.NS, item.BS)
	case opListAppend:
		return b.only(c, item.L)
	case opPlus, opMinus:
		return b.only(c, item.N)
	case opLess, opLessEqual, opGreater, opGreaterEqual, opBetween:
		return b.only(c, item.S, item.N, item.B)
	case opType:
		return b.checkType(c.args[1])
	default: // operands of any kind
	}
	return ""
}

func (b *binding) only(c call, kinds ...item.Kind) string {
	for _, x := range c.args {
		if k := b.kindOf(x); k != item.Missing && !slices.Contains(kinds, k) {
			return "Incorrect operand type for operator or function; operator or function: " + c.op.String() + ", operand type: " +
				k.String()
		}
	}
	return ""
}

// checkType checks the second operand of attribute_type.
func (b *binding) checkType(x operand) string {
	kind := b.kindOf(x)
	if kind != item.S {
		name := kind.String()
		if kind == item.Missing {
			name = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
		}
		return "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: " + name
	}
	if name := b.values[x.slot].Text(); item.ParseKind(name) == item.Missing {
		return "Invalid attribute type name found; type: " + name + ", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
	}
	return ""
}

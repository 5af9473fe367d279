package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// answer builds the body of an answer, which is a JSON object.
type answer struct {
	out []byte
}

// member appends the name of a member. It returns the slice to which the caller appends the value.
func (a *answer) member(name string) []byte {
	sep := byte(',')
	if len(a.out) == 0 {
		sep = '{'
	}
	a.out = item.AppendText(append(a.out, sep), name)
	return append(a.out, ':')
}

// item appends a member with an item. It appends nothing for the zero Item.
func (a *answer) item(name string, it item.Item) {
	if it != (item.Item{}) {
		a.out = it.AppendJSON(a.member(name))
	}
}

// items appends a member with a list of items.
func (a *answer) items(name string, items []item.Item) {
	a.out = append(a.member(name), '[')
	for i, it := range items {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.out = it.AppendJSON(a.out)
	}
	a.out = append(a.out, ']')
}

// capacity appends the consumed capacity, if the request asks for it.
func (a *answer) capacity(used capacity, mode wire.Text) {
	if wants(mode) {
		a.out = used.appendJSON(a.member("ConsumedCapacity"), mode.Value)
	}
}

// capacities appends the capacity that a batch consumed in each table, if the request asks for it.
func (a *answer) capacities(used []capacity, mode wire.Text) {
	if !wants(mode) || len(used) == 0 {
		return
	}
	a.out = append(a.member("ConsumedCapacity"), '[')
	for i, u := range used {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.out = u.appendJSON(a.out, mode.Value)
	}
	a.out = append(a.out, ']')
}

// end returns the body.
func (a *answer) end() []byte {
	if len(a.out) == 0 {
		return []byte("{}")
	}
	return append(a.out, '}')
}

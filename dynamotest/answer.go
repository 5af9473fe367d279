package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// answer is the body of an answer in the making: an object.
type answer struct {
	out []byte
}

// member appends the name of a member and returns what its value is to be appended to.
func (a *answer) member(name string) []byte {
	sep := byte(',')
	if len(a.out) == 0 {
		sep = '{'
	}
	a.out = item.AppendText(append(a.out, sep), name)
	return append(a.out, ':')
}

// item appends an item, unless it is none.
func (a *answer) item(name string, it item.Item) {
	if it != (item.Item{}) {
		a.out = it.AppendJSON(a.member(name))
	}
}

// items appends a list of items.
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

// capacity appends what was consumed, if the request wants that.
func (a *answer) capacity(used capacity, mode wire.Text) {
	if wants(mode) {
		a.out = used.appendJSON(a.member("ConsumedCapacity"), mode.Value)
	}
}

// end returns the body.
func (a *answer) end() []byte {
	if len(a.out) == 0 {
		return []byte("{}")
	}
	return append(a.out, '}')
}

package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// writing is a PutItem, UpdateItem or DeleteItem.
type writing struct {
	call *call
	q    *wire.Request
	name string
	expressions
}

// writing checks what does not depend on the table. without is the end of the error text for values
// without an expression. returns are the values of ReturnValues that the operation permits beside
// NONE.
func (c *call) writing(q *wire.Request, without string, returns ...string) (*writing, error) {
	name, err := tableName(q.TableName)
	if err != nil {
		return nil, err
	}
	if c.operation == "PutItem" && !q.HasItem {
		return nil, missing("item")
	}
	if c.operation != "PutItem" && !q.HasKey {
		return nil, missing("key")
	}
	var rules constraints
	rules.capacity(q.ReturnCapacity)
	rules.oneOf(q.ReturnValues, "returnValues", "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]")
	rules.metrics(q.ReturnMetrics)
	rules.onFailure(q.OnFailure, "")
	if err := rules.err(); err != nil {
		return nil, err
	}
	if q.ReturnValues.Given && !slices.Contains(append(returns, "NONE"), q.ReturnValues.Value) {
		return nil, wire.Invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	e, err := c.expressions(q, without)
	return &writing{c, q, name, e}, err
}

// run writes the item that become returns, if the condition holds. check returns the item's key
// after checking it against the table.
func (w *writing) run(check func(t *liveTable) (key item.Item, err error),
	become func(t *liveTable, found item.Item) (item.Item, error),
) ([]byte, error) {
	var from table.Row
	var to item.Item
	var used capacity
	err := w.call.locked(w.name, func() error {
		t, err := w.call.table(w.name)
		if err != nil {
			return err
		}
		if err := w.checkKeys(t); err != nil {
			return err
		}
		keys, err := check(t)
		if err != nil {
			return err
		}
		key := t.key(keys)
		from = t.rows.Get(key)
		if w.condition != nil && !w.condition.Holds(from.Item) {
			return w.refused(from.Item)
		}
		if to, err = become(t, from.Item); err != nil {
			return err
		}
		if wants(w.q.ReturnCapacity) {
			used = t.written(from.Item, to)
		}
		return t.write(key, from, to)
	})
	if err != nil {
		return nil, err
	}
	var a answer
	switch w.q.ReturnValues.Value {
	case "ALL_OLD":
		a.item("Attributes", from.Item)
	case "ALL_NEW":
		a.item("Attributes", to)
	case "UPDATED_OLD":
		a.item("Attributes", w.touched(from.Item))
	case "UPDATED_NEW":
		a.item("Attributes", w.touched(to))
	}
	a.capacity(used, w.q.ReturnCapacity)
	return a.end(), nil
}

// refused returns the error about a condition that does not hold, with the item if the request asks
// for it.
func (w *writing) refused(found item.Item) error {
	e := &wire.Error{Code: wire.ConditionalCheck, Message: "The conditional request failed"}
	if w.q.OnFailure.Value == "ALL_OLD" {
		e.Item = found
	}
	return e
}

// touched returns the attributes of an item that the update changes.
func (w *writing) touched(it item.Item) item.Item {
	if w.update == nil {
		return item.Item{}
	}
	return w.update.Touched().Of(it)
}

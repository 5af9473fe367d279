package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// getItem is the operation GetItem.
func (c *call) getItem(q *wire.Request) ([]byte, error) {
	name, err := tableName(q.TableName)
	if err != nil {
		return nil, err
	}
	if !q.HasKey {
		return nil, missing("key")
	}
	var rules constraints
	rules.capacity(q.ReturnCapacity)
	if err := rules.err(); err != nil {
		return nil, err
	}
	e, err := c.expressions(q, "")
	if err != nil {
		return nil, err
	}
	var row table.Row
	err = c.locked(name, func() error {
		t, err := c.table(name)
		if err != nil {
			return err
		}
		if err := e.checkKeys(t); err != nil {
			return err
		}
		if err := t.keys.CheckKey(q.Key); err != nil {
			return err
		}
		row = t.source(q.ConsistentRead).Get(t.key(q.Key))
		return nil
	})
	if err != nil {
		return nil, err
	}
	var a answer
	if row.Exists() {
		a.out = e.selected(row.Item).AppendJSON(a.member("Item"))
	}
	a.capacity(capacity{table: name, units: readUnits(row.Item.Size(), q.ConsistentRead)}, q.ReturnCapacity)
	return a.end(), nil
}

// source returns the rows that a read sees.
func (t *liveTable) source(consistent bool) *table.Rows {
	if t.stale != nil && !consistent {
		return t.stale.rows
	}
	return t.rows
}

// missing returns the error about a required parameter that the request lacks.
func missing(parameter string) error {
	var c constraints
	c.required(false, parameter)
	return c.err()
}

package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// Limits of BatchGetItem: the number of keys, and the bytes of the items.
const (
	maxGets     = 100
	maxGetBytes = 16 << 20
)

// tableGets is the part of a BatchGetItem about one table, with its results.
type tableGets struct {
	wire.GetTable
	expressions
	items       []item.Item
	unprocessed []item.Item // keys that were not read
	used        capacity
}

// batchGetItem is the operation BatchGetItem.
func (c *call) batchGetItem(q *wire.Request) ([]byte, error) {
	gets, err := c.gets(q)
	if err != nil {
		return nil, err
	}
	bytes, done := 0, 0
	err = c.locked("", func() error {
		for i := range gets {
			g := &gets[i]
			t, err := c.table(g.used.table)
			if err != nil {
				return err
			}
			if err := g.checkGets(t); err != nil {
				return err
			}
			for _, key := range g.Keys {
				row := t.source(g.ConsistentRead).Get(t.key(key))
				if bytes += row.Item.Size(); bytes > maxGetBytes || c.drawThrottle(g.used.table) {
					g.unprocessed = append(g.unprocessed, key)
					continue
				}
				done++
				g.used.units += readUnits(row.Item.Size(), g.ConsistentRead)
				if row.Exists() {
					g.items = append(g.items, row.Item)
				}
			}
		}
		if done == 0 {
			return c.throttled()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return batchGetAnswer(gets, q.ReturnCapacity), nil
}

// gets checks what does not depend on the tables.
func (c *call) gets(q *wire.Request) ([]tableGets, error) {
	var rules constraints
	rules.requestItems(q, len(q.Gets))
	for _, g := range q.Gets {
		rules.longEnough(len(g.Keys), 1, "[]", "requestItems."+g.Table+".member.keys")
	}
	rules.capacity(q.ReturnCapacity)
	if err := rules.err(); err != nil {
		return nil, err
	}
	var gets []tableGets
	n := 0
	for _, g := range q.Gets {
		name, err := tableName(wire.Text{Value: g.Table, Given: true})
		if err != nil {
			return nil, err
		}
		if n += len(g.Keys); n > maxGets {
			return nil, wire.Invalid("Too many items requested for the BatchGetItem call")
		}
		e, err := c.expressions(&wire.Request{Projection: g.Projection, Names: g.Names, HasNames: g.HasNames}, "")
		if err != nil {
			return nil, err
		}
		gets = append(gets, tableGets{GetTable: g, expressions: e, used: capacity{table: name}})
	}
	return gets, nil
}

// checkGets checks the keys and the expressions against the table.
func (g *tableGets) checkGets(t *liveTable) error {
	if err := g.checkKeys(t); err != nil {
		return err
	}
	for i, key := range g.Keys {
		if err := t.keys.CheckKey(key); err != nil {
			return err
		}
		if slices.Contains(g.Keys[:i], key) {
			return wire.Invalid("Provided list of item keys contains duplicates")
		}
	}
	return nil
}

func batchGetAnswer(gets []tableGets, mode wire.Text) []byte {
	var a, found, unprocessed answer
	var used []capacity
	for _, g := range gets {
		used = append(used, g.used)
		for i, it := range g.items {
			g.items[i] = g.selected(it)
		}
		found.items(g.Table, g.items)
		if len(g.unprocessed) > 0 {
			unprocessed.out = append(unprocessed.member(g.Table), g.unprocessedKeys()...)
		}
	}
	a.out = append(a.member("Responses"), found.end()...)
	a.out = append(a.member("UnprocessedKeys"), unprocessed.end()...)
	a.capacities(used, mode)
	return a.end()
}

// unprocessedKeys returns the request for the keys that were not read, as UnprocessedKeys has it.
func (g *tableGets) unprocessedKeys() []byte {
	var a answer
	a.items("Keys", g.unprocessed)
	if g.ConsistentRead {
		a.out = append(a.member("ConsistentRead"), "true"...)
	}
	if g.Projection.Given {
		a.out = item.AppendText(a.member("ProjectionExpression"), g.Projection.Value)
	}
	if g.HasNames {
		var names answer
		for name, attribute := range g.Names {
			names.out = item.AppendText(names.member(name), attribute)
		}
		a.out = append(a.member("ExpressionAttributeNames"), names.end()...)
	}
	return a.end()
}

package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// Limits of a BatchGetItem.
const (
	maxGets     = 100
	maxGetBytes = 16 << 20
)

// got is what a BatchGetItem found in one table.
type got struct {
	wire.GetTable
	expressions
	items  []item.Item
	undone []item.Item // keys that were not read
	used   capacity
}

// batchGetItem is the operation BatchGetItem.
func (c *call) batchGetItem(q *wire.Request) ([]byte, error) {
	gots, err := c.gets(q)
	if err != nil {
		return nil, err
	}
	bytes, done := 0, 0
	err = c.locked("", func() error {
		for i := range gots {
			g := &gots[i]
			t, err := c.table(g.used.table)
			if err != nil {
				return err
			}
			if err := g.checkGets(t); err != nil {
				return err
			}
			for _, key := range g.Keys {
				row := t.source(g.ConsistentRead).Get(t.key(key))
				if bytes += row.Item.Size(); bytes > maxGetBytes || c.throttles(g.used.table) {
					g.undone = append(g.undone, key)
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
	return gotAnswer(gots, q.ReturnCapacity), nil
}

// gets checks what does not depend on the tables.
func (c *call) gets(q *wire.Request) ([]got, error) {
	if err := checkCapacity(q.ReturnCapacity); err != nil {
		return nil, err
	}
	if !q.RequestItems {
		return nil, missing("requestItems")
	}
	if len(q.Gets) == 0 {
		return nil, wire.Invalid("1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	var gots []got
	n := 0
	for _, g := range q.Gets {
		name, err := tableName(wire.Text{Value: g.Table, Given: true})
		if err != nil {
			return nil, err
		}
		if n += len(g.Keys); n > maxGets {
			return nil, wire.Invalid("Too many items requested for the BatchGetItem call")
		}
		if len(g.Keys) == 0 {
			return nil, wire.Invalid("1 validation error detected: Value '[]' at 'requestItems." + g.Table + ".member.keys' failed to satisfy constraint: Member must have length greater than or equal to 1")
		}
		e, err := c.expressions(&wire.Request{Projection: g.Projection, Names: g.Names, HasNames: g.HasNames}, "")
		if err != nil {
			return nil, err
		}
		gots = append(gots, got{GetTable: g, expressions: e, used: capacity{table: name}})
	}
	return gots, nil
}

// checkGets checks the keys against the table.
func (g *got) checkGets(t *liveTable) error {
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

func gotAnswer(gots []got, mode wire.Text) []byte {
	var a, found, undone answer
	for _, g := range gots {
		for i, it := range g.items {
			g.items[i] = g.selected(it)
		}
		found.items(g.Table, g.items)
		if len(g.undone) > 0 {
			undone.out = append(undone.member(g.Table), g.again()...)
		}
	}
	a.out = append(a.member("Responses"), found.end()...)
	a.out = append(a.member("UnprocessedKeys"), undone.end()...)
	if wants(mode) {
		a.out = append(a.member("ConsumedCapacity"), '[')
		for i, g := range gots {
			if i > 0 {
				a.out = append(a.out, ',')
			}
			a.out = g.used.appendJSON(a.out, mode.Value)
		}
		a.out = append(a.out, ']')
	}
	return a.end()
}

// again returns the part of a request that asks for what was not read.
func (g *got) again() []byte {
	var a answer
	a.items("Keys", g.undone)
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

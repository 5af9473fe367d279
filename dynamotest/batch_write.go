package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxWrites is the maximum number of writes of a BatchWriteItem.
const maxWrites = 25

// tableWrites is the part of a BatchWriteItem about one table, with its results.
type tableWrites struct {
	wire.WriteTable
	unprocessed []wire.Write
	used        capacity
}

// batchWriteItem is the operation BatchWriteItem. Each item is written on its own, but none is
// written if one of them is invalid.
func (c *call) batchWriteItem(q *wire.Request) ([]byte, error) {
	tables, err := c.writes(q)
	if err != nil {
		return nil, err
	}
	err = c.locked("", func() error {
		for _, w := range tables {
			t, err := c.table(w.used.table)
			if err != nil {
				return err
			}
			if err := t.checkWrites(w.Writes); err != nil {
				return err
			}
		}
		done := 0
		for i := range tables {
			n, err := tables[i].run(c)
			if err != nil {
				return err
			}
			done += n
		}
		if done == 0 {
			return c.throttled()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return batchWriteAnswer(tables, q.ReturnCapacity), nil
}

// writes checks what does not depend on the tables.
func (c *call) writes(q *wire.Request) ([]tableWrites, error) {
	var rules constraints
	rules.requestItems(q, len(q.Writes))
	for _, w := range q.Writes {
		rules.longEnough(len(w.Writes), 1, "[]", "requestItems."+w.Table+".member")
	}
	rules.capacity(q.ReturnCapacity)
	rules.metrics(q.ReturnMetrics)
	if err := rules.err(); err != nil {
		return nil, err
	}
	var tables []tableWrites
	n := 0
	for _, w := range q.Writes {
		name, err := tableName(wire.Text{Value: w.Table, Given: true})
		if err != nil {
			return nil, err
		}
		if n += len(w.Writes); n > maxWrites {
			return nil, wire.Invalid("Too many items requested for the BatchWriteItem call")
		}
		tables = append(tables, tableWrites{WriteTable: w, used: capacity{table: name}})
	}
	return tables, nil
}

// checkWrites checks the writes against the table.
func (t *liveTable) checkWrites(writes []wire.Write) error {
	seen := map[string]bool{}
	for _, w := range writes {
		var err error
		if w.Delete {
			err = t.keys.CheckKey(w.Item)
		} else {
			err = t.checkItem(w.Item)
		}
		if err != nil {
			return err
		}
		key := t.key(w.Item)
		if seen[key] {
			return wire.Invalid("Provided list of item keys contains duplicates")
		}
		seen[key] = true
	}
	return nil
}

// run carries out the writes. It returns how many of them were not throttled.
func (w *tableWrites) run(c *call) (done int, err error) {
	t, err := c.table(w.used.table)
	if err != nil {
		return 0, err
	}
	for _, one := range w.Writes {
		if c.drawThrottle(w.used.table) {
			w.unprocessed = append(w.unprocessed, one)
			continue
		}
		key := t.key(one.Item)
		from, to := t.rows.Get(key), one.Item
		if one.Delete {
			to = item.Item{}
		}
		w.used.add(t.written(from.Item, to))
		if err := t.write(key, from, to); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

func batchWriteAnswer(tables []tableWrites, mode wire.Text) []byte {
	var a, unprocessed answer
	var used []capacity
	for _, w := range tables {
		used = append(used, w.used)
		if len(w.unprocessed) == 0 {
			continue
		}
		unprocessed.out = append(unprocessed.member(w.Table), '[')
		for i, one := range w.unprocessed {
			if i > 0 {
				unprocessed.out = append(unprocessed.out, ',')
			}
			var outer, inner answer
			if one.Delete {
				inner.item("Key", one.Item)
				outer.out = append(outer.member("DeleteRequest"), inner.end()...)
			} else {
				inner.item("Item", one.Item)
				outer.out = append(outer.member("PutRequest"), inner.end()...)
			}
			unprocessed.out = append(unprocessed.out, outer.end()...)
		}
		unprocessed.out = append(unprocessed.out, ']')
	}
	a.out = append(a.member("UnprocessedItems"), unprocessed.end()...)
	a.capacities(used, mode)
	return a.end()
}

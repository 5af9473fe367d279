package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxWrites is how many items a BatchWriteItem writes at most.
const maxWrites = 25

// wrote is what a BatchWriteItem did in one table.
type wrote struct {
	wire.WriteTable
	undone []wire.Write
	used   capacity
}

// batchWriteItem is the operation BatchWriteItem. Each of its writes is one of its own; but nothing is written unless all
// of them are valid.
func (c *call) batchWriteItem(q *wire.Request) ([]byte, error) {
	wrotes, err := c.writes(q)
	if err != nil {
		return nil, err
	}
	err = c.locked("", func() error {
		for _, w := range wrotes {
			t, err := c.table(w.used.table)
			if err != nil {
				return err
			}
			if err := t.checkWrites(w.Writes); err != nil {
				return err
			}
		}
		done := 0
		for i := range wrotes {
			n, err := wrotes[i].run(c)
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
	return wroteAnswer(wrotes, q.ReturnCapacity), nil
}

// writes checks what does not depend on the tables.
func (c *call) writes(q *wire.Request) ([]wrote, error) {
	if err := checkCapacity(q.ReturnCapacity); err != nil {
		return nil, err
	}
	if err := oneOf(q.ReturnMetrics, "returnItemCollectionMetrics", "[SIZE, NONE]", "SIZE", "NONE"); err != nil {
		return nil, err
	}
	if !q.RequestItems {
		return nil, missing("requestItems")
	}
	if len(q.Writes) == 0 {
		return nil, wire.Invalid("1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	var wrotes []wrote
	n := 0
	for _, w := range q.Writes {
		name, err := tableName(wire.Text{Value: w.Table, Given: true})
		if err != nil {
			return nil, err
		}
		if n += len(w.Writes); n > maxWrites {
			return nil, wire.Invalid("Too many items requested for the BatchWriteItem call")
		}
		if len(w.Writes) == 0 {
			return nil, wire.Invalid("1 validation error detected: Value '[]' at 'requestItems." + w.Table + ".member' failed to satisfy constraint: Member must have length greater than or equal to 1")
		}
		wrotes = append(wrotes, wrote{WriteTable: w, used: capacity{table: name}})
	}
	return wrotes, nil
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

// run does the writes, and returns how many of them were not throttled.
func (w *wrote) run(c *call) (done int, err error) {
	t, err := c.table(w.used.table)
	if err != nil {
		return 0, err
	}
	for _, one := range w.Writes {
		if c.throttles(w.used.table) {
			w.undone = append(w.undone, one)
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

func wroteAnswer(wrotes []wrote, mode wire.Text) []byte {
	var a, undone answer
	for _, w := range wrotes {
		if len(w.undone) == 0 {
			continue
		}
		undone.out = append(undone.member(w.Table), '[')
		for i, one := range w.undone {
			if i > 0 {
				undone.out = append(undone.out, ',')
			}
			var outer, inner answer
			if one.Delete {
				inner.item("Key", one.Item)
				outer.out = append(outer.member("DeleteRequest"), inner.end()...)
			} else {
				inner.item("Item", one.Item)
				outer.out = append(outer.member("PutRequest"), inner.end()...)
			}
			undone.out = append(undone.out, outer.end()...)
		}
		undone.out = append(undone.out, ']')
	}
	a.out = append(a.member("UnprocessedItems"), undone.end()...)
	if wants(mode) {
		a.out = append(a.member("ConsumedCapacity"), '[')
		for i, w := range wrotes {
			if i > 0 {
				a.out = append(a.out, ',')
			}
			a.out = w.used.appendJSON(a.out, mode.Value)
		}
		a.out = append(a.out, ']')
	}
	return a.end()
}

package spendsim

import (
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
)

// row is a row of a dataset. All who have it share it, and do not change it.
type row struct {
	value  []byte
	spend  *eventspb.Spend          // of table 1
	health *eventspb.SpendHistogram // of table 12
	spent  spent                    // of spend
}

// change is a change of a dataset.
type change struct {
	key string // table and key
	row *row   // nil: the row is deleted
}

// commit is a transaction of a dataset or of a copy.
type commit struct {
	at      int64
	cleared bool // all rows of before are gone: the topic was created again
	changes []change
}

// publish adds a change of a table to the dataset, if that has it.
func (c *counter) publish(out *commit, table byte, key string, value []byte) {
	if !slices.Contains(c.w.published, table) {
		return
	}
	key = string(rune(table)) + key
	if value == nil {
		delete(c.rows, key)
		out.changes = append(out.changes, change{key, nil})
		return
	}
	r := &row{value: value}
	switch table {
	case spendcounter.TableSpend:
		r.spend = &eventspb.Spend{}
		c.w.decode(value, r.spend)
		for _, by := range r.spend.ByDc {
			r.spent.charged, r.spent.refunded = r.spent.charged+by.ChargedMicros, r.spent.refunded+by.RefundedMicros
		}
	case spendcounter.TableHealth:
		r.health = &eventspb.SpendHistogram{}
		c.w.decode(value, r.health)
	}
	c.rows[key] = r
	out.changes = append(out.changes, change{key, r})
}

package spendcounter

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// dayTotal is the sums over all campaign days of a budget day and currency.
type dayTotal struct {
	charged, refunded int64
	events            uint64
}

func (t *dayTotal) add(o dayTotal) {
	t.charged, t.refunded, t.events = t.charged+o.charged, t.refunded+o.refunded, t.events+o.events
}

// totals are what was added to the totals since the last flush, by day and currency, see readTail.
// The totals themselves are kept with the rankings: they, too, are a function of the campaign days.
type totals struct {
	list  map[uint64]*dayTotal
	known [2]knownTotal // the days of most events are two neighbours
}

type knownTotal struct {
	tail  uint64
	total *dayTotal // nil: none
}

// of returns the sum of a day and currency.
func (t *totals) of(day events.Day, currency events.Currency) *dayTotal {
	known, tail := &t.known[day&1], tailOf(day, currency)
	if known.total == nil || known.tail != tail {
		if t.list == nil {
			t.list = map[uint64]*dayTotal{}
		}
		if t.list[tail] == nil {
			t.list[tail] = &dayTotal{}
		}
		*known = knownTotal{tail, t.list[tail]}
	}
	return known.total
}

// flushTotals adds to the totals, and hands them over.
func (c *Counter) flushTotals(ch *stream.Changes) error {
	for _, tail := range slices.Sorted(maps.Keys(c.totals.list)) {
		t := c.totals.list[tail]
		day, currency := splitTail(tail)
		if t.events > 0 {
			c.charged.add(currency, t.charged)
		}
		if day <= c.closing.through {
			continue // lifetime rows are in no total
		}
		r, err := c.ranking(tail)
		if err != nil {
			return err
		}
		r.total.add(*t)
		value, err := proto.Marshal(
			&spendpb.Total{ChargedMicros: r.total.charged, RefundedMicros: r.total.refunded, Events: r.total.events})
		if err != nil {
			return fmt.Errorf("spend counter, partition %d: total: %w", c.task.Partition, err)
		}
		ch.Put(TableTotals, appendTail(nil, day, currency), value)
	}
	clear(c.totals.list)
	c.totals.known = [2]knownTotal{}
	return nil
}

// loadTotal reads the total of a ranking.
func (c *Counter) loadTotal(r *ranking) error {
	value, err := c.task.Get(TableTotals, appendRankingKey(nil, r.tail, nil))
	if err != nil || value == nil {
		return err
	}
	m, err := ParseTotal(value)
	r.total = dayTotal{m.GetChargedMicros(), m.GetRefundedMicros(), m.GetEvents()}
	return err
}

// dropTotals deletes the totals of days and currencies that rankAll has not found.
func (c *Counter) dropTotals(ch *stream.Changes) error {
	return c.task.Scan(TableTotals, nil, func(key, _ []byte) error {
		day, currency, err := ParseTotalKey(key)
		if err == nil && c.rankings.list[tailOf(day, currency)] == nil {
			ch.Delete(TableTotals, key)
		}
		return err
	})
}

// ParseTotal reads a value of TableTotals.
func ParseTotal(value []byte) (*spendpb.Total, error) {
	m := &spendpb.Total{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("total is corrupt: %w: rebuild the store from its changelog", err)
	}
	return m, nil
}

// ParseTotalKey splits a key of TableTotals, which is the tail of a spend key.
func ParseTotalKey(key []byte) (events.Day, events.Currency, error) {
	if len(key) != keyTail {
		return 0, 0, fmt.Errorf("total key %q: the key is not day and currency: does it belong to another table?", key)
	}
	day, currency := splitTail(readTail(append([]byte{0}, key...)))
	return day, currency, nil
}

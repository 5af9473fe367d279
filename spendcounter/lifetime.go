package spendcounter

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// lifetimeDay is the budget day of the lifetime row of a campaign, which has the totals of its
// closed days.
const lifetimeDay events.Day = 0

// lastDayEnd is when a budget day ends in the last time zone, after its begin in UTC.
const lastDayEnd = 36 * time.Hour

// closing moves the rows of closed days into lifetime rows. From the transaction on that closes a
// day, its events are charged to the lifetime rows, and its rows do not change any more. Passes
// over table 1 then find these rows, a part of the table with each Flush. So which day an event is
// charged to never depends on the progress of a pass, and when the passes are through, the state
// is a function of the inputs.
//
// The progress is in the task record, in the transaction that moves the rows: a restart continues
// the pass. A Promotion and a Repartitioner, which may put rows of closed days before the next key,
// remove it from the record.
type closing struct {
	through events.Day // this budget day and those before it are closed. 0: none
	done    events.Day // the last finished pass moved the rows up to this day
	pass    events.Day // the pass moves the rows up to this day. 0: there is no pass
	from    []byte     // of the pass: the next key of table 1
}

// state returns the progress of the passes.
func (c *closing) state() *spendpb.Pass {
	return &spendpb.Pass{DoneDay: int32(c.done), Day: int32(c.pass), From: c.from}
}

func closingFrom(s *spendpb.TaskState) closing {
	p := s.GetPass()
	return closing{through: events.Day(s.GetClosedDay()), done: events.Day(p.GetDoneDay()), pass: events.Day(p.GetDay()), from: p.GetFrom()}
}

// moveCost is the cost of moving a row, beside that of a look at it.
const moveCost = 15

// rowOf returns the day of the row to which an event of day is charged.
func (c *closing) rowOf(day events.Day) events.Day {
	if day <= c.through {
		return lifetimeDay
	}
	return day
}

// closeDays closes the budget days that ended before the retention, by the low watermark. It is
// called after the rows are handed over: those of a closed day do not change any more.
func (c *Counter) closeDays() {
	if c.cfg.Retention == 0 {
		return
	}
	ms := c.lowWatermark() - (c.cfg.Retention + lastDayEnd).Milliseconds()
	if day := events.UTCDay(ms); day > c.closing.through {
		c.closing.through, c.changed = day, true
	}
}

// moveClosed moves rows of closed days into the lifetime rows of their campaigns. It is called
// before the changed rows are handed over.
func (c *Counter) moveClosed(ch *stream.Changes) error {
	p := &c.closing
	if p.pass == 0 {
		if p.done == p.through {
			return nil
		}
		p.pass, p.from = p.through, nil
		if err := c.dropRankings(ch); err != nil {
			return fmt.Errorf("spend counter, partition %d: rankings of closed days: %w", c.task.Partition, err)
		}
	}
	c.changed = true
	cost := 0
	err := c.task.Range(TableSpend, p.from, nil, func(key, value []byte) error {
		if cost >= c.cfg.closingRows {
			p.from = bytes.Clone(key)
			return stream.ErrStopScan
		}
		cost++
		_, _, day, _, err := ParseKey(key)
		if err == nil && day != lifetimeDay && day <= p.pass {
			cost += moveCost
			err = c.moveRow(key, value, ch)
		}
		if err != nil {
			return fmt.Errorf("spend %q: %w: rebuild the store from its changelog", key, err)
		}
		return nil
	})
	switch {
	case errors.Is(err, stream.ErrStopScan):
	case err != nil:
		return fmt.Errorf("spend counter, partition %d: closed days: %w", c.task.Partition, err)
	default:
		p.done, p.pass, p.from = p.pass, 0, nil
	}
	return nil
}

// moveRow adds the row of a closed day to the lifetime row, and deletes it with hours and parts.
func (c *Counter) moveRow(key, value []byte, ch *stream.Changes) error {
	account, campaign, _, currency, err := ParseKey(key)
	if err != nil {
		return err
	}
	m := &eventspb.Spend{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	n, err := c.entry(hashKey(account, campaign, lifetimeDay, currency), account, campaign, lifetimeDay, currency)
	if err != nil {
		return err
	}
	e := &c.cache.list[n]
	c.cache.touch(e, n)
	e.duplicates += m.Duplicates
	e.asOfMs = max(e.asOfMs, m.AsOfMs)
	if err := c.addParts(e, m); err != nil {
		return err
	}
	ch.Delete(TableSpend, key)
	for _, table := range []byte{TableHours, TableParts} {
		err := c.task.Scan(table, key, func(key, _ []byte) error {
			ch.Delete(table, key)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropRankings deletes the rankings and totals of closed days, whose rows the pass moves.
func (c *Counter) dropRankings(ch *stream.Changes) error {
	for tail, r := range c.rankings.list {
		if events.Day(tail>>24) <= c.closing.pass {
			delete(c.rankings.list, tail)
			if c.rankings.found == r {
				c.rankings.found = nil
			}
		}
	}
	for _, table := range []byte{TableRanking, TableTotals} {
		err := c.task.Range(table, nil, RankingPrefix(c.closing.pass+1), func(key, _ []byte) error {
			ch.Delete(table, key)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

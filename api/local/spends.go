package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Spends implements api.StateSource.
func (s *StateReader) Spends(ctx context.Context, q api.SpendScan, fn api.SpendFunc) (_ *weirpb.AsOf, err error) {
	snap, asOf, err := s.open(q.Partition, q.MaxStaleness)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	scan := spendScan{ctx: ctx, snap: snap, q: q, fn: fn, totals: map[string]*weirpb.CurrencyTotal{}}
	err = scan.run()
	if err == nil {
		err = scan.emitTotals()
	}
	if err != nil && !errors.Is(err, stream.ErrStopScan) {
		return nil, fmt.Errorf("spend in partition %d: %w", q.Partition, err)
	}
	return asOf, nil
}

// spendScan is an api.SpendScan of one snapshot.
type spendScan struct {
	ctx  context.Context
	snap *processors.Snapshot
	q    api.SpendScan
	fn   api.SpendFunc
	rows int
	// totals are the sums of all rows that were visited, or those of the store if the rows are
	// those of rankings; by currency.
	totals map[string]*weirpb.CurrencyTotal
	stored bool
}

func (c *spendScan) run() error {
	span := processors.KeyRange{Partition: c.q.Partition, Table: spendcounter.TableSpend}
	if c.q.Account != "" {
		span.From = spendcounter.AccountPrefix(c.q.Account)
		span.To = stream.PrefixEnd(span.From)
		if bytes.Compare(c.q.From, span.From) > 0 {
			span.From = c.q.From
		}
		if bytes.Compare(span.From, span.To) >= 0 {
			return nil
		}
		return c.snap.Range(span, c.visit)
	}
	task, err := taskOf(c.snap, c.q.Partition)
	if err != nil {
		return err
	}
	// rankings are of one day, and the first commit writes the first ranking
	if c.q.FirstDay != c.q.LastDay || !spendcounter.IsRanked(task) {
		return c.snap.Range(span, c.visit)
	}
	order := spendcounter.ByCharged
	if c.q.ByEvents {
		order = spendcounter.ByEvents
	}
	prefix := spendcounter.RankingPrefix(events.Day(c.q.FirstDay))
	if err := c.readTotals(prefix); err != nil {
		return err
	}
	return c.snap.Scan(c.q.Partition, spendcounter.TableRanking, prefix, func(key, value []byte) error {
		if !spendcounter.InRanking(value, order) {
			return nil
		}
		key, err := spendcounter.ParseRankingKey(key)
		if err != nil {
			return err
		}
		value, err = c.snap.Get(c.q.Partition, spendcounter.TableSpend, key)
		if err == nil && value == nil {
			err = fmt.Errorf("campaign day %q of the ranking does not exist: rebuild the store from its changelog", key)
		}
		if err != nil {
			return err
		}
		return c.visit(key, value)
	})
}

// readTotals reads the totals of a day. The totals of lifetime rows are none.
func (c *spendScan) readTotals(prefix []byte) error {
	c.stored = true
	return c.snap.Scan(c.q.Partition, spendcounter.TableTotals, prefix, func(key, value []byte) error {
		_, currency, err := spendcounter.ParseTotalKey(key)
		if err != nil || c.q.Currency != "" && currency.String() != c.q.Currency {
			return err
		}
		m, err := spendcounter.ParseTotal(value)
		c.totals[currency.String()] = &weirpb.CurrencyTotal{
			Currency: currency.String(), ChargedMicros: m.GetChargedMicros(), RefundedMicros: m.GetRefundedMicros(), Events: m.GetEvents(),
		}
		return err
	})
}

// addToTotal adds a campaign day to the total of its currency. The sums are a part of those of the
// task, so they do not overflow.
func (c *spendScan) addToTotal(s *eventspb.Spend) {
	t := c.totals[s.Currency]
	if t == nil {
		t = &weirpb.CurrencyTotal{Currency: s.Currency}
		c.totals[s.Currency] = t
	}
	for _, by := range s.ByDc {
		t.ChargedMicros, t.RefundedMicros = t.ChargedMicros+by.ChargedMicros, t.RefundedMicros+by.RefundedMicros
		for _, n := range by.Events {
			t.Events += n.Count
		}
	}
}

// emitTotals passes on the totals, ordered by currency.
func (c *spendScan) emitTotals() error {
	if c.q.Total == nil {
		return nil
	}
	for _, currency := range slices.Sorted(maps.Keys(c.totals)) {
		if err := c.q.Total(c.totals[currency]); err != nil {
			return err
		}
	}
	return nil
}

// visit passes on a campaign day that matches the query.
func (c *spendScan) visit(key, value []byte) error {
	if c.rows++; c.rows%1024 == 0 && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	_, _, day, currency, err := spendcounter.ParseKey(key)
	switch {
	case err != nil:
		return err
	case day == 0 && c.q.LastDay != 0: // a lifetime row
		return nil
	case int32(day) < c.q.FirstDay, c.q.LastDay != 0 && int32(day) > c.q.LastDay, c.q.Currency != "" && currency.String() != c.q.Currency:
		return nil
	}
	s := &eventspb.Spend{}
	if err := proto.Unmarshal(value, s); err != nil {
		return fmt.Errorf("spend %q: %w", key, err)
	}
	if c.q.Total != nil && !c.stored {
		c.addToTotal(s)
	}
	if c.q.Hours {
		if err := c.addHours(key, s); err != nil {
			return err
		}
	}
	if c.q.Part != nil {
		if err := c.emitParts(key); err != nil {
			return err
		}
	}
	return c.fn(key, s)
}

// emitParts passes on the parts of a campaign day.
func (c *spendScan) emitParts(spendKey []byte) error {
	return c.snap.Scan(c.q.Partition, spendcounter.TableParts, spendKey, func(key, value []byte) error {
		p := &eventspb.SpendPart{}
		if err := proto.Unmarshal(value, p); err != nil {
			return fmt.Errorf("part %q: %w", key, err)
		}
		c.q.Part(p.GetPart())
		return nil
	})
}

// addHours adds to a campaign day the hours that have rows of their own.
func (c *spendScan) addHours(key []byte, s *eventspb.Spend) error {
	return c.snap.Scan(c.q.Partition, spendcounter.TableHours, key, func(key, value []byte) error {
		h := &eventspb.SpendHour{}
		if err := proto.Unmarshal(value, h); err != nil {
			return fmt.Errorf("hour %q: %w", key, err)
		}
		s.Hours = append(s.Hours, h.GetHour())
		return nil
	})
}

// taskOf returns the task record. State of another layout, in which no key would be found, is a
// gap.
func taskOf(snap *processors.Snapshot, p int32) (*spendpb.TaskState, error) {
	value, err := snap.Get(p, spendcounter.TableTask, []byte(spendcounter.TaskKey))
	if err != nil {
		return nil, err
	}
	task, err := spendcounter.ParseTask(value)
	if err != nil {
		return nil, gap(p, processors.StateStopped, err.Error())
	}
	return task, nil
}

// CheckSpend is the StateCheck of the spend counter.
func CheckSpend(snap *processors.Snapshot, p int32) error {
	_, err := taskOf(snap, p)
	return err
}

var _ StateCheck = CheckSpend

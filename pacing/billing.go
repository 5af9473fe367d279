package pacing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/billing"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/stream"
)

const (
	// billEvery is the time after which days that can be billed are looked for again.
	billEvery = 10 * time.Second
	// billRecords is the number of records from which on a transaction takes no further day.
	billRecords = 2_000
	// billOverdue is how late a day has to be until it is reported as a problem.
	billOverdue = time.Hour
	// maxGap is the number of days without a tick of an account that are noted later.
	maxGap = 31
)

// noted is a row of TableDays.
type noted struct {
	day     events.Day
	endMs   int64  // of the day; 0: it was billed, or the row cannot be decoded
	version uint64 // the greatest of the budgets that the row has
	billed  bool
}

// noteDay writes the budgets of the day of an account, if its document or its day is another one
// than at the tick before. Days since the row before, on which the account had no tick, get the
// budgets of this one.
func (x *task) noteDay(ch *stream.Changes, a *account) {
	d, day, loc := a.InForce()
	i, found := a.findDay(day)
	switch {
	case x.cfg.BillAfter == 0, found && (a.today == d || a.days[i].billed):
		return
	case i == 0 && len(a.days) > 0 && a.days[0].billed: // the clock was set back
		return
	case found && a.today == nil && a.days[i].version == d.Version: // by the owner before
		a.today = d
		return
	}
	first := day
	if !found && i > 0 {
		first = max(a.days[i-1].day.Add(1), day.Add(-maxGap))
	}
	for at := first; at <= day; at = at.Add(1) {
		if err := x.note(ch, a, at, loc); err != nil {
			ch.Fail(err)
			return
		}
	}
	a.today = d
}

// findDay returns the place of a day in the rows of an account.
func (a *account) findDay(day events.Day) (i int, found bool) {
	return slices.BinarySearchFunc(a.days, day, func(n noted, day events.Day) int { return cmp.Compare(n.day, day) })
}

// note adds the document in force to the row of a day.
func (x *task) note(ch *stream.Changes, a *account, day events.Day, loc *time.Location) error {
	key := AppendDayKey(nil, a.Name(), day)
	before, err := x.dayRow(key)
	if errors.Is(err, errDayRow) {
		x.problem(a.Name(), fmt.Errorf("%w, and are noted again", err))
	} else if err != nil {
		return err
	}
	d, _, _ := a.InForce()
	after := billing.Note(before, d, day, loc)
	i, found := a.findDay(day)
	if !found {
		a.days = slices.Insert(a.days, i, noted{day: day})
	}
	a.days[i].endMs, a.days[i].version = after.GetEndMs(), after.GetVersion()
	if !proto.Equal(before, after) {
		x.days.Put(ch, key, after)
	}
	return nil
}

// errDayRow is about a row that cannot be decoded.
var errDayRow = errors.New("the budgets of a day cannot be decoded")

// dayRow returns a row of TableDays, nil without one.
func (x *task) dayRow(key []byte) (*eventspb.DayBudgets, error) {
	value, err := x.Get(TableDays, key)
	if err != nil || value == nil {
		return nil, err
	}
	m := &eventspb.DayBudgets{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errDayRow, err)
	}
	return m, nil
}

// dueDay is a day that may be billed.
type dueDay struct {
	account *account
	day     events.Day
	row     *eventspb.DayBudgets // nil: it cannot be decoded
	records []*eventspb.BilledSpend
}

// billDays bills the days that have ended BillAfter ago, again and again until ctx ends.
func (x *task) billDays(ctx context.Context, q *stream.SourceQueue) {
	for pause.For(ctx, billEvery) {
		for _, list := range x.dueDays(time.Now().UnixMilli()) {
			if complete, err := x.bill(ctx, q, list); err != nil {
				return
			} else if !complete { // all accounts of the shard wait for the same
				if x.cfg.alone() && x.flushed(ctx, q, x.heartbeat) != nil {
					return
				}
				break
			}
		}
	}
}

// heartbeat writes a heartbeat, so that a shard without events does not wait for one.
func (x *task) heartbeat(c stream.Commit, ch *stream.Changes) {
	value, err := events.Heartbeat(x.cfg.DC, c.NowMs)
	if err != nil {
		ch.Fail(fmt.Errorf("encode a heartbeat: %w", err))
		return
	}
	ch.EmitTo(heartbeatsOutput, x.Partition, stream.Message{Value: value})
}

// dueDays returns the first day of each account that may be billed at a time, Unix ms, in lists
// whose rows are read together.
func (x *task) dueDays(nowMs int64) (lists [][]*dueDay) {
	const together = 20
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []*dueDay
	for _, a := range x.accounts {
		i := slices.IndexFunc(a.days, func(n noted) bool { return n.endMs > 0 })
		if i < 0 || a.days[i].endMs+x.cfg.BillAfter.Milliseconds() > nowMs {
			continue
		}
		if list = append(list, &dueDay{account: a, day: a.days[i].day}); len(list) == together {
			lists, list = append(lists, list), nil
		}
	}
	if len(list) > 0 {
		lists = append(lists, list)
	}
	return lists
}

// bill bills days; complete is false if the spend cannot be read, or does not have all events yet.
// It returns an error if ctx ends.
func (x *task) bill(ctx context.Context, q *stream.SourceQueue, list []*dueDay) (complete bool, err error) {
	err = x.flushed(ctx, q, func(_ stream.Commit, ch *stream.Changes) {
		for _, d := range list {
			var err error
			if d.row, err = x.dayRow(AppendDayKey(nil, d.account.Name(), d.day)); errors.Is(err, errDayRow) {
				x.problem(d.account.Name(), fmt.Errorf("%s is not billed: %w", d.day, err))
			} else if err != nil {
				ch.Fail(err)
				return
			}
		}
	})
	if err != nil {
		return false, err
	}
	var ready []*dueDay
	records, complete := 0, true
	for i, d := range list {
		if d.row != nil {
			if complete = x.readDay(ctx, d); complete {
				ready = append(ready, d)
				records += len(d.records)
			}
		}
		if last := !complete || i == len(list)-1; len(ready) > 0 && (last || records >= billRecords) {
			if err := x.flushed(ctx, q, func(_ stream.Commit, ch *stream.Changes) { x.billed(ch, ready) }); err != nil {
				return false, err
			}
			ready, records = nil, 0
		}
		if list[i] = nil; !complete {
			break
		}
	}
	return complete, ctx.Err()
}

// flushed calls fn in a Flush, with mu, and waits for it. It returns an error if ctx ends.
func (x *task) flushed(ctx context.Context, q *stream.SourceQueue, fn func(stream.Commit, *stream.Changes)) error {
	b, done := &stream.SourceBatch{}, make(chan struct{})
	b.OnFlush(func(c stream.Commit, ch *stream.Changes) {
		x.mu.Lock()
		defer x.mu.Unlock()
		fn(c, ch)
		close(done)
	})
	if err := x.push(ctx, q, b); err != nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// readDay makes the records of a day; false: its spend cannot be read, or does not have all events
// yet.
func (x *task) readDay(ctx context.Context, d *dueDay) bool {
	bill, now := billing.NewDay(d.row), time.Now()
	reading, err := x.readBilled(ctx, d, bill)
	switch {
	case err != nil:
		late := now.Sub(time.UnixMilli(d.row.GetEndMs()).Add(x.cfg.BillAfter))
		if late > billOverdue && ctx.Err() == nil {
			x.problem(d.account.Name(), fmt.Errorf("%s is not billed yet: %w", d.day, err))
		}
		return false
	case reading.Closed >= d.day:
		x.problem(d.account.Name(), fmt.Errorf("%s is not billed: its spend is no longer kept by day, see spend.retention", d.day))
		d.records = bill.Gone()
	default:
		d.records = bill.Bill()
	}
	for _, r := range d.records {
		r.WriterDc, r.Dataset, r.AtMs = x.cfg.DC, reading.Dataset, now.UnixMilli()
	}
	return true
}

// readBilled reads the spend of a day and of those before. It has to be of one dataset, which has
// all events up to BillAfter the end of the day: their ingest times decide, and no clock of this
// process.
func (x *task) readBilled(ctx context.Context, d *dueDay, bill *billing.Day) (first Reading, err error) {
	account := d.account.Name()
	queries := []SpendQuery{{Account: account, From: d.day}}
	if campaigns, from, lifetime := bill.Before(); len(campaigns) > 0 {
		queries = append(queries, SpendQuery{Account: account, Campaigns: campaigns, From: from, Lifetime: lifetime})
	}
	for i, q := range queries {
		reading, err := x.cfg.Spend(ctx, q, func(r *pack.Row) {
			if r.Day == d.day && i == 0 || r.Day < d.day && i > 0 {
				bill.Add(r.Campaign, r.Day, r.Currency, r.Micros)
			}
		})
		if i == 0 {
			first = reading
		}
		switch until := time.UnixMilli(d.row.GetEndMs()).Add(x.cfg.BillAfter); {
		case err != nil:
			return first, err
		case !reading.Exact || reading.Dataset != first.Dataset:
			return first, errors.New("no dataset of the spend is healthy")
		case reading.CompleteMs == 0:
			return first, errors.New("the spend lacks the events of a datacentre")
		case reading.CompleteMs < until.UnixMilli():
			return first, fmt.Errorf("the spend has the events until %s, and those until %s are needed",
				time.UnixMilli(reading.CompleteMs).UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
		}
	}
	return first, nil
}

// billed writes the records of days, and marks the days as billed. The last day that is marked
// keeps its row: so a day is not billed again, and days on which nothing ran are noticed.
func (x *task) billed(ch *stream.Changes, list []*dueDay) {
	for _, d := range list {
		for _, r := range d.records {
			value, err := proto.Marshal(r)
			if err != nil {
				ch.Fail(fmt.Errorf("encode what is billed to account %q: %w", r.GetAccount(), err))
				return
			}
			ch.Emit(billedOutput, stream.Message{Key: []byte(r.GetAccount()), Value: value, TimeMs: r.GetAtMs()})
		}
		if d.records[0].GetGone() {
			x.counts[countGone]++
		} else {
			x.counts[countBilled]++
		}
		a := d.account
		i, _ := a.findDay(d.day)
		a.days[i] = noted{day: d.day, billed: true}
		if i > 0 && a.days[i-1].billed {
			x.days.Delete(ch, AppendDayKey(nil, a.Name(), a.days[i-1].day))
			a.days = slices.Delete(a.days, i-1, i)
		}
		x.days.Put(ch, AppendDayKey(nil, a.Name(), d.day), &eventspb.DayBudgets{Account: a.Name(), Day: int32(d.day), Billed: true})
	}
}

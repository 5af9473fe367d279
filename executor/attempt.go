package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/lease/order"
	"github.com/weirhq/weir/internal/leasetable"
)

// answer is what became of a command.
type answer struct {
	outcome eventspb.LeaseOutcome
	detail  string
	version int64 // of the row now, 0 if there is none or it is not known
}

// attempt makes the one request that a command takes. After an error it is to be made again.
func (e *Executor) attempt(ctx context.Context, c *eventspb.LeaseCommand) (a answer, err error) {
	if err := e.pace.Wait(ctx, 1); err != nil {
		return a, fmt.Errorf("wait for a turn: %w", err)
	}
	limit, err := e.askRegion(ctx)
	if err != nil {
		return a, err //nolint:wrapcheck // it names the cause, and the log names the command
	}
	if limit.By != "" { // the row is another region's by now, whatever ours still says
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: limit.By + " has adopted the region's resources"}, nil
	}
	defer func() { e.sawClock(err) }()
	if err := limit.Check(time.Now(), e.cfg.Table.Skew, e.cfg.Table.Timeout); err != nil {
		return a, err
	}
	now := time.Now().UnixMilli()
	o, err := e.terms.Make(c, now)
	switch {
	case errors.Is(err, order.ErrInvalid):
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID, detail: err.Error()}, nil
	case err != nil:
		return a, fmt.Errorf("make an order of a command: %w", err)
	case c.GetNotAfterMs() > 0 && now > c.GetNotAfterMs():
		return e.late(ctx, o, now-c.GetNotAfterMs())
	case o.Headroom != nil:
		return e.headroom(ctx, o)
	}
	with := leasetable.Item{}
	if o.Shelf != "" {
		with[leasetable.Shard] = leasetable.S(o.Shelf)
	}
	item, made, err := e.cfg.Table.WriteItem(ctx, e.cfg.Region, o.Row, &o.Write, with)
	if err != nil {
		return a, err //nolint:wrapcheck // it names the cause, and the log names the command
	}
	row, err := leasetable.Row(item)
	if err != nil && !made {
		// No attempt would change it, and what it is a person must see.
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: "the row cannot be read: " + err.Error()}, nil
	}
	a.outcome, a.detail = o.Outcome(row, len(item) > 0, made)
	a.version = row.Version
	return a, nil
}

func (e *Executor) headroom(ctx context.Context, o *order.Order) (a answer, err error) {
	item, made, err := e.cfg.Table.PutHeadroom(ctx, o.Headroom)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	a.outcome, a.detail = o.HeadroomOutcome(asOf(item), made)
	return a, nil
}

// asOf is when a headroom row is of, 0 if it does not say.
func asOf(item leasetable.Item) int64 {
	n, err := leasetable.Number(item, leasetable.AsOf)
	if err != nil {
		return 0
	}
	return n
}

// late says what became of a command that is too late. Of a transfer an attempt before may have made it, and its answer or its
// result have been lost.
func (e *Executor) late(ctx context.Context, o *order.Order, by int64) (a answer, err error) {
	a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE, fmt.Sprintf("%d ms after its time", by)
	if o.Kind != "transfer" {
		return a, nil // who decided it says it again, or goes by the stream: after an outage there may be millions
	}
	item, err := e.cfg.Table.Get(ctx, e.cfg.Region, o.Row)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	row, err := leasetable.Row(item)
	if err != nil {
		row = lease.Row{} // not what we made
	}
	a.version = row.Version
	if o.Made(row) {
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	}
	return a, nil
}

const (
	limitAge  = 10 * time.Second // how old what was read of the region may be
	limitRest = time.Second      // how long nothing is asked of a region that could not be read
)

// askRegion gives until when something may be written through the region. It reads the region's row, which also shows whether
// our clock is right, before the first write, after the clock was found to be off, and every limitAge; the read does no harm. One
// reads for all who wait; if it fails all fail, and nobody asks again at once: a region may have a hundred thousand commands.
func (e *Executor) askRegion(ctx context.Context) (leasetable.Limit, error) {
	select {
	case e.asks <- struct{}{}:
		defer func() { <-e.asks }()
	case <-ctx.Done():
		return leasetable.Limit{}, fmt.Errorf("wait for what the region says: %w", ctx.Err())
	}
	age := time.Since(e.limitRead)
	if e.limitErr != nil && age < e.rest {
		return e.limit, e.limitErr
	}
	if e.limitErr == nil && e.clock.Load() && age < limitAge {
		return e.limit, nil
	}
	limits, err := e.cfg.Table.Limits(ctx, e.cfg.Region)
	limit := e.limit
	if err == nil {
		limit = limits[e.cfg.Region]
	}
	if ctx.Err() != nil { // it is this caller who gave up
		return limit, ctx.Err()
	}
	e.limit, e.limitErr, e.limitRead = limit, err, time.Now()
	e.clock.Store(err == nil)
	return limit, err
}

func (e *Executor) sawClock(err error) {
	if errors.Is(err, leasetable.ErrClock) {
		e.clock.Store(false)
	}
	if errors.Is(err, leasetable.ErrThrottled) {
		e.pace.Throttled(1)
	}
}

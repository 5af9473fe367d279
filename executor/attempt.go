package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/lease/table"
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
	limit, err := e.readWriteLease(ctx)
	if err != nil {
		return a, err //nolint:wrapcheck // it names the cause, and the log names the command
	}
	if limit.AdoptedBy != "" { // the row is another region's by now, whatever ours still says
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: limit.AdoptedBy + " has adopted the region's resources"}, nil
	}
	defer func() { e.noteClock(err) }()
	if err := limit.Check(time.Now(), e.cfg.Table.Skew, e.cfg.Table.Timeout); err != nil {
		return a, err
	}
	now := time.Now().UnixMilli()
	o, err := e.commands.Make(c, now)
	switch {
	case errors.Is(err, command.ErrInvalid):
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID, detail: err.Error()}, nil
	case err != nil:
		return a, fmt.Errorf("make an order of a command: %w", err)
	case c.GetNotAfterMs() > 0 && now > c.GetNotAfterMs():
		return e.late(ctx, o, now-c.GetNotAfterMs())
	case o.Headroom != nil:
		return e.headroom(ctx, o)
	}
	with := table.Item{}
	if o.Bucket != "" {
		with[table.Bucket] = table.S(o.Bucket)
	}
	item, made, err := e.cfg.Table.WriteItem(ctx, e.cfg.Region, o.Row, &o.Write, with)
	if err != nil {
		return a, err //nolint:wrapcheck // it names the cause, and the log names the command
	}
	row, err := table.Row(item)
	if err != nil && !made {
		// No attempt would change it, and what it is a person must see.
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: "the row cannot be read: " + err.Error()}, nil
	}
	a.outcome, a.detail = o.Outcome(row, len(item) > 0, made)
	a.version = row.Version
	return a, nil
}

func (e *Executor) headroom(ctx context.Context, o *command.Request) (a answer, err error) {
	item, made, err := e.cfg.Table.PutHeadroom(ctx, o.Headroom)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	a.outcome, a.detail = o.HeadroomOutcome(asOf(item), made)
	return a, nil
}

// asOf is when a headroom row is of, 0 if it does not say.
func asOf(item table.Item) int64 {
	n, err := table.Number(item, table.AsOf)
	if err != nil {
		return 0
	}
	return n
}

// late says what became of a command that is too late. Of a transfer an attempt before may have made it, and its answer or its
// result have been lost.
func (e *Executor) late(ctx context.Context, o *command.Request, by int64) (a answer, err error) {
	a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE, fmt.Sprintf("%d ms after its time", by)
	if o.Kind != "transfer" {
		return a, nil // who decided it says it again, or goes by the stream: after an outage there may be millions
	}
	item, err := e.cfg.Table.Get(ctx, e.cfg.Region, o.Row)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	row, err := table.Row(item)
	if err != nil {
		row = lease.Row{} // not what we made
	}
	a.version = row.Version
	if o.IsMade(row) {
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	}
	return a, nil
}

const (
	maxWriteLeaseAge = 10 * time.Second // how old what was read of the region may be
	writeLeaseRetry  = time.Second      // how long nothing is asked of a region that could not be read
)

// readWriteLease gives until when something may be written through the region. It reads the region's row, which also shows whether
// our clock is right, before the first write, after the clock was found to be off, and every limitAge; the read does no harm. One
// reads for all who wait; if it fails all fail, and nobody asks again at once: a region may have a hundred thousand commands.
func (e *Executor) readWriteLease(ctx context.Context) (table.WriteLease, error) {
	select {
	case e.regionRead <- struct{}{}:
		defer func() { <-e.regionRead }()
	case <-ctx.Done():
		return table.WriteLease{}, fmt.Errorf("wait for what the region says: %w", ctx.Err())
	}
	age := time.Since(e.writeLeaseRead)
	if e.writeLeaseErr != nil && age < e.retryPause {
		return e.writeLease, e.writeLeaseErr
	}
	if e.writeLeaseErr == nil && e.clockOK.Load() && age < maxWriteLeaseAge {
		return e.writeLease, nil
	}
	limits, err := e.cfg.Table.WriteLeases(ctx, e.cfg.Region)
	limit := e.writeLease
	if err == nil {
		limit = limits[e.cfg.Region]
	}
	if ctx.Err() != nil { // it is this caller who gave up
		return limit, ctx.Err()
	}
	e.writeLease, e.writeLeaseErr, e.writeLeaseRead = limit, err, time.Now()
	e.clockOK.Store(err == nil)
	return limit, err
}

func (e *Executor) noteClock(err error) {
	if errors.Is(err, table.ErrClock) {
		e.clockOK.Store(false)
	}
	if errors.Is(err, table.ErrThrottled) {
		e.pace.Throttled(1)
	}
}

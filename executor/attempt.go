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

// answer is the outcome of a command.
type answer struct {
	outcome eventspb.LeaseOutcome
	detail  string
	version int64 // of the row after the command, 0 if the row does not exist or is unknown
}

// attempt makes the one request of a command. After an error the outcome is unknown, and the caller
// tries again.
func (e *Executor) attempt(ctx context.Context, c *eventspb.LeaseCommand) (a answer, err error) {
	if err := e.limiter.Wait(ctx, 1); err != nil {
		return a, fmt.Errorf("wait for the rate limit: %w", err)
	}
	limit, err := e.readWriteLease(ctx)
	if err != nil {
		return a, err //nolint:wrapcheck // it names the cause, and the log names the command
	}
	if limit.AdoptedBy != "" { // the rows belong to that region, even if this replica does not show it yet
		return answer{
			outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: limit.AdoptedBy + " has adopted the region's resources",
		}, nil
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
		return a, fmt.Errorf("make the request of a command: %w", err)
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
		// Another attempt would not change it. The result reports it to an operator.
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: "the row cannot be read: " + err.Error()}, nil
	}
	a.outcome, a.detail = o.Outcome(row, len(item) > 0, made)
	a.version = row.Version
	return a, nil
}

// headroom writes a headroom row.
func (e *Executor) headroom(ctx context.Context, o *command.Request) (a answer, err error) {
	item, made, err := e.cfg.Table.PutHeadroom(ctx, o.Headroom)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	a.outcome, a.detail = o.HeadroomOutcome(asOf(item), made)
	return a, nil
}

// asOf returns the time of a headroom row, 0 if the row does not exist or has none.
func asOf(item table.Item) int64 {
	n, err := table.Number(item, table.HeadroomAsOfMs)
	if err != nil {
		return 0
	}
	return n
}

// late returns the outcome of a command after its not_after_ms. An earlier attempt may have made a
// transfer and lost the response or the result, so late reads the row of a transfer.
func (e *Executor) late(ctx context.Context, o *command.Request, by int64) (a answer, err error) {
	a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE, fmt.Sprintf("%d ms after its not_after_ms", by)
	if o.Kind != "transfer" {
		// Its sender repeats it or sees the row in the stream. A read for each would be too much:
		// after an outage there may be millions.
		return a, nil
	}
	item, err := e.cfg.Table.Get(ctx, e.cfg.Region, o.Row)
	if err != nil {
		return a, err //nolint:wrapcheck // as in attempt
	}
	row, err := table.Row(item)
	if err != nil {
		row = lease.Row{} // not a row that a transfer makes
	}
	a.version = row.Version
	if o.IsMade(row) {
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	}
	return a, nil
}

const (
	maxWriteLeaseAge = 10 * time.Second // the write lease is read again after that
	writeLeaseRetry  = time.Second      // the pause after a failed read
)

// readWriteLease returns the write lease of the region. It reads it before the first write, every
// maxWriteLeaseAge, and after a response that showed a wrong clock, since the read shows the
// difference of the clocks without a write.
//
// One caller reads for all that wait. If the read fails, all fail for writeLeaseRetry without
// another request: a region may have a hundred thousand commands.
func (e *Executor) readWriteLease(ctx context.Context) (table.WriteLease, error) {
	select {
	case e.regionRead <- struct{}{}:
		defer func() { <-e.regionRead }()
	case <-ctx.Done():
		return table.WriteLease{}, fmt.Errorf("wait for the write lease of %s: %w", e.cfg.Region, ctx.Err())
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
	if ctx.Err() != nil { // only this caller was cancelled
		return limit, ctx.Err()
	}
	e.writeLease, e.writeLeaseErr, e.writeLeaseRead = limit, err, time.Now()
	e.clockOK.Store(err == nil)
	return limit, err
}

// noteClock records what the error of a write shows about the clock and the rate of the table.
func (e *Executor) noteClock(err error) {
	if errors.Is(err, table.ErrClock) {
		e.clockOK.Store(false)
	}
	if errors.Is(err, table.ErrThrottled) {
		e.limiter.Throttled(1)
	}
}

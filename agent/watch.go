package agent

import (
	"context"
	"time"

	"github.com/weirhq/weir/lease"
)

// Watch reports the loss of a lease. The channel receives ErrSuperseded, ErrReleased or ErrEnded
// once, and is closed. It is closed without an error when ctx ends or the agent is closed. A
// renewal by any user of the key is not a loss. Watch reads the key row every Config.CacheTTL.
// While DynamoDB does not answer it uses the last known deadline.
func (a *Agent) Watch(ctx context.Context, l Lease) <-chan error {
	lost := make(chan error, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		close(lost)
		return lost
	}
	a.running.Go(func() {
		defer close(lost)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(a.background, cancel)() //nolint:contextcheck // Close ends it as the caller's context does
		if err := a.watch(ctx, l); err != nil && ctx.Err() == nil {
			lost <- err
		}
	})
	return lost
}

// watch returns the error of a lost lease, or ctx's error.
func (a *Agent) watch(ctx context.Context, l Lease) error {
	for ctx.Err() == nil {
		next := time.Now().Add(a.cfg.CacheTTL)
		if l.Deadline.Before(next) {
			next = l.Deadline
		}
		if err := sleepUntil(ctx, next); err != nil {
			return err
		}
		rows, err := a.table.Keys(ctx, l.Region, lease.KeyPartition(l.Client, l.Pool, l.Key))
		if err == nil {
			if l, err = a.updated(l, rows[l.Region]); err != nil {
				return err
			}
		}
		if !l.Valid(time.Now()) {
			return ErrEnded
		}
	}
	return ctx.Err()
}

// updated returns the lease with the state of its key row.
func (a *Agent) updated(l Lease, row lease.Row) (Lease, error) {
	switch {
	case row.State == lease.Superseded:
		return l, ErrSuperseded
	case row.Resource != l.Resource || row.Version == 0:
		return l, ErrEnded
	case row.State == lease.Released:
		return l, ErrReleased
	case row.State == lease.Leased && row.Expires > l.Expires.UnixMilli():
		l.Expires = time.UnixMilli(row.Expires)
		l.Deadline, l.Token = l.Expires.Add(-a.cfg.Skew), row.ResourceVersion
	}
	return l, nil
}

package node

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/internal/logthrottle"
)

const (
	writeLeaseInterval = 10 * time.Second // many times in the shortest region lease
	firstRenewal       = 2 * time.Second  // that a process which ends at once has for it
)

// renewWriteLeases have the regions whose executors run here vouch for the others, see admin.Vouch, until stop is called: each by itself, so that
// one that does not answer holds up no other. That has nothing to do with what becomes of the roles: even a process that fails and is
// started again and again vouches each time, as others live by it.
func (l *leaseLoop) renewWriteLeases(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all, first sync.WaitGroup
	for _, e := range l.executors {
		first.Add(1)
		all.Go(func() { l.renewWriteLease(ctx, e.Region(), first.Done) })
	}
	return func() {
		late := time.AfterFunc(firstRenewal, cancel)
		first.Wait()
		late.Stop()
		cancel()
		all.Wait()
	}
}

// renewWriteLease has one region vouch until ctx ends, and warns while the region's own lease comes to its end. begun is called once.
func (l *leaseLoop) renewWriteLease(ctx context.Context, region string, begun func()) {
	t := time.NewTicker(writeLeaseInterval)
	defer t.Stop()
	begun = sync.OnceFunc(begun)
	var known admin.WriteLeaseStatus
	var failing logthrottle.Tracker
	for round := 0; ; round++ {
		now, err := l.table.RenewWriteLeases(ctx, region)
		if begun(); err == nil {
			known = now
		}
		if ctx.Err() == nil {
			l.logWriteLease(&failing, region, err)
		}
		if left := time.Until(known.Expires); round > 0 && known.Term > 0 && left < known.Term/3 {
			l.log.Warn().Str("region", region).Time("until", known.Expires).Dur("left_ms", max(0, left)).Msg("write_lease_expiring")
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// logWriteLease tells of leases that are not extended.
func (l *leaseLoop) logWriteLease(failing *logthrottle.Tracker, region string, err error) {
	if err == nil {
		if n := failing.Success(time.Now()); n.Kind == logthrottle.End {
			l.log.Warn().Str("region", region).Dur("for", n.For).Msg("write_lease_renewal_recovered")
		}
		return
	}
	if n := failing.Failure(time.Now()); n.Kind != logthrottle.None {
		l.log.Warn().Err(err).Str("region", region).Dur("for", n.For).Msg("write_lease_renewal_failed")
	}
}

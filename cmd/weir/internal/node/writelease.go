package node

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/lease/admin"
)

const (
	writeLeaseInterval = 10 * time.Second // a small part of the shortest term of a write lease
	firstRenewal       = 2 * time.Second  // limit of the first renewal in a process that stops at once
)

// writeLeaseRenewal renews, as each of regions, the write leases of the other regions: see
// admin.RenewWriteLeases.
type writeLeaseRenewal struct {
	table   *LeaseTable
	regions []string
	log     zerolog.Logger
}

// start renews write leases until stop is called. Each region has a goroutine, so that a region
// that does not answer delays no other. The renewal does not depend on the roles: a process that
// fails and restarts again and again renews once in each life, because other regions need it.
func (r *writeLeaseRenewal) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all, first sync.WaitGroup
	for _, region := range r.regions {
		first.Add(1)
		all.Go(func() { r.renew(ctx, region, first.Done) })
	}
	return func() {
		late := time.AfterFunc(firstRenewal, cancel)
		first.Wait()
		late.Stop()
		cancel()
		all.Wait()
	}
}

// renew renews as region until ctx ends. It warns when the region's own write lease is about to
// end. begun is called once, after the first attempt.
func (r *writeLeaseRenewal) renew(ctx context.Context, region string, begun func()) {
	t := time.NewTicker(writeLeaseInterval)
	defer t.Stop()
	begun = sync.OnceFunc(begun)
	var known admin.WriteLeaseStatus
	var failing logthrottle.Tracker
	warnings := expiryWarnings{log: r.log, region: region}
	for round := 0; ; round++ {
		now, err := r.table.RenewWriteLeases(ctx, region)
		if begun(); err == nil {
			known = now
		}
		if ctx.Err() == nil {
			r.report(&failing, region, err)
		}
		if round > 0 {
			warnings.check(known, time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// expiryWarnings warns while a region's own write lease is about to end, and once after its end.
type expiryWarnings struct {
	log    zerolog.Logger
	region string
	ended  bool // the end was logged
}

func (w *expiryWarnings) check(known admin.WriteLeaseStatus, now time.Time) {
	left := known.Expires.Sub(now)
	switch {
	case known.Term == 0 || left >= known.Term/3:
		w.ended = false
	case left > 0:
		w.ended = false
		w.log.Warn().Str("region", w.region).Time("until", known.Expires).Dur("left_ms", left).Msg("write_lease_expiring")
	case !w.ended:
		w.ended = true
		event := w.log.Warn().Str("region", w.region)
		if !known.Expires.IsZero() {
			event = event.Time("until", known.Expires)
		}
		event.Msg("write_lease_ended")
	}
}

// report logs the begin and the end of a time in which renewals fail.
func (r *writeLeaseRenewal) report(failing *logthrottle.Tracker, region string, err error) {
	if err == nil {
		if n := failing.Success(time.Now()); n.Kind == logthrottle.End {
			r.log.Warn().Str("region", region).Dur("for_ms", n.For).Msg("write_lease_renewal_recovered")
		}
		return
	}
	if n := failing.Failure(time.Now()); n.Kind != logthrottle.None {
		r.log.Warn().Err(err).Str("region", region).Dur("for_ms", n.For).Msg("write_lease_renewal_failed")
	}
}

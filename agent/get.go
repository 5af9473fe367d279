package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
)

// GetLease returns the lease of a key: the existing lease, in this region or another, or a new
// lease that ends at expires. An existing lease keeps its own end, see Renew. A new lease ends no
// later than the pool's maximum lease term allows, see Lease.Clamped. Calling again is safe after
// every error.
//
// It is get_lease of System1's article "Global Real-Time Resource Pool Allocation".
func (a *Agent) GetLease(ctx context.Context, client, pool, key string, expires time.Time) (Lease, error) {
	begun := time.Now()
	n := leaseName{client, pool, key}
	call := Call{}
	l, ok := a.cache.get(n, begun)
	err := error(nil)
	if !ok {
		if err = a.checkGet(n, expires); err == nil {
			l, call, err = a.share(ctx, n, func(ctx context.Context, call *Call) (Lease, error) { return a.get(ctx, n, expires, call) })
		}
	}
	call.Op, call.Client, call.Pool, call.Cached, call.New, call.Err = "get", client, pool, ok, l.New, err
	a.observe(&call, begun)
	return l, err
}

func (a *Agent) checkGet(n leaseName, expires time.Time) error {
	if err := check(n.client, n.pool, n.key); err != nil {
		return err
	}
	if left := time.Until(expires); left <= 2*a.cfg.Skew {
		return fmt.Errorf("%w: the lease would end in %v: the end has to be later than twice the clock skew, %v", ErrInvalid,
			left.Round(time.Millisecond), a.cfg.Skew)
	}
	return nil
}

func (a *Agent) observe(call *Call, begun time.Time) {
	if a.cfg.Observe != nil {
		call.Duration = time.Since(begun)
		a.cfg.Observe(*call)
	}
}

// get runs the state machine for a key's lease.
func (a *Agent) get(ctx context.Context, n leaseName, expires time.Time, call *Call) (Lease, error) {
	p, err := a.poolOf(ctx, n.client, n.pool, call)
	if err != nil {
		return Lease{}, err
	}
	expires, clamped := p.clamp(expires)
	g := lease.Get{Until: expires.UnixMilli()}
	d := a.newRunner(n, p, a.cfg.Region, call)
	last, err := d.run(ctx, &g)
	switch {
	case err != nil:
		return Lease{}, err
	case last.Action == lease.Exhausted:
		if err := a.checkWriteLease(a.cfg.Region); err != nil { // an adopted region has no resources
			return Lease{}, err
		}
		p.refused(n.key)
		return Lease{}, &ExhaustedError{Client: n.client, Pool: n.pool, Region: a.cfg.Region, RetryAfter: a.cfg.CandidateTTL}
	case last.Action == lease.Lost:
		return Lease{}, fmt.Errorf("%w: the requested end, %s, passed before the lease could begin", ErrEnded,
			expires.UTC().Format(time.RFC3339))
	}
	l := a.lease(n, last.Lease)
	l.Clamped = clamped && l.New
	if l.pending {
		a.goBackground(func(ctx context.Context) { a.settle(context.WithoutCancel(ctx), d, l) }) // Close waits for it
	}
	a.cache.put(n, l, time.Now().Add(a.cfg.CacheTTL))
	return l, nil
}

func (a *Agent) lease(n leaseName, g lease.Grant) Lease {
	end := time.UnixMilli(g.Expires)
	return Lease{
		Client: n.client, Pool: n.pool, Key: n.key, Resource: g.Resource, Region: g.Region, Token: g.Token, Expires: end,
		Deadline: end.Add(-a.cfg.Skew),
		New:      g.Unsettled, version: g.KeyVersion, pending: g.Unsettled,
	}
}

func (l *Lease) grant() lease.Grant {
	return lease.Grant{
		Resource: l.Resource, Region: l.Region, Token: l.Token, KeyVersion: l.version, Expires: l.Expires.UnixMilli(), Unsettled: l.pending,
	}
}

// settlePause is the pause before a failed settlement is repeated. It doubles up to maxSettlePause.
const (
	settlePause    = 200 * time.Millisecond
	maxSettlePause = 10 * time.Second
)

// settle writes the key row of a new lease as leased. Until then a process in this region that
// finds the row reads the resource row as well; other regions see no lease, and dedup no duplicate.
// So it is repeated until it succeeds or the lease ends.
func (a *Agent) settle(ctx context.Context, d runner, l Lease) {
	for pause := settlePause; ; pause = min(2*pause, maxSettlePause) {
		step := d.params.SettleStep(l.grant(), time.Now().UnixMilli())
		row, ok, err := d.write(ctx, &step)
		// or the answer was lost
		if ok || err == nil && row.State == lease.Leased && row.Resource == l.Resource && row.ResourceVersion == l.Token {
			l.version, l.pending, l.New = row.Version, false, false
			a.cache.renew(d.name, l)
		}
		if err == nil {
			return // refused: another process has continued with the row, and settles it
		}
		a.cfg.Log.Debug().Err(err).Str("client", l.Client).Str("pool", l.Pool).Msg("lease_not_settled")
		again := time.Now().Add(pause)
		if again.After(l.Deadline) || sleepUntil(a.background, again) != nil { //nolint:contextcheck // Close ends it
			return
		}
	}
}

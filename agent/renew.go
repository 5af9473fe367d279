package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease"
)

// Renew moves the end of a lease to expires, at the endpoint of the lease's region, and returns it
// with its new token. The new end is limited by the pool's maximum lease term, and is never earlier
// than before. After ErrReleased, ErrEnded, ErrSuperseded or ErrStale the lease is lost: stop using
// the resource. After another error the lease is as before, and Renew can be repeated until its
// deadline.
func (a *Agent) Renew(ctx context.Context, l Lease, expires time.Time) (Lease, error) {
	begun := time.Now()
	call := Call{Op: "renew", Client: l.Client, Pool: l.Pool}
	renewed, err := a.renew(ctx, l, expires, &call)
	call.Err = err
	a.observe(&call, begun)
	return renewed, err
}

func (a *Agent) renew(ctx context.Context, l Lease, expires time.Time, call *Call) (Lease, error) {
	n := leaseName{l.Client, l.Pool, l.Key}
	if err := a.checkGet(n, expires); err != nil {
		return Lease{}, err
	}
	if !l.Valid(time.Now()) {
		return Lease{}, fmt.Errorf("%w: the deadline was %s", ErrEnded, l.Deadline.UTC().Format(time.RFC3339))
	}
	p, err := a.poolOf(ctx, l.Client, l.Pool, call)
	if err != nil {
		return Lease{}, err
	}
	expires, clamped := p.clamp(expires)
	m := lease.Renew{Lease: l.grant(), Until: expires.UnixMilli()}
	d := a.newRunner(n, p, l.Region, call)
	last, err := d.run(ctx, &m)
	if err == nil {
		err = lossError(last)
	}
	if err != nil {
		a.cache.drop(n)
		return Lease{}, err
	}
	renewed := a.lease(n, last.Lease)
	renewed.Clamped = clamped
	a.cache.put(n, renewed, time.Now().Add(a.cfg.CacheTTL))
	return renewed, nil
}

// Release ends a lease before its end. The resource is leased to no other key before that end and
// the pool's quarantine, because other users of the key may rely on it. The same key can lease it
// again at once in its region. In another region the key may begin a lease of that region instead.
func (a *Agent) Release(ctx context.Context, l Lease) error {
	begun := time.Now()
	call := Call{Op: "release", Client: l.Client, Pool: l.Pool}
	call.Err = a.release(ctx, l, &call)
	a.observe(&call, begun)
	return call.Err
}

func (a *Agent) release(ctx context.Context, l Lease, call *Call) error {
	n := leaseName{l.Client, l.Pool, l.Key}
	if err := check(l.Client, l.Pool, l.Key); err != nil {
		return err
	}
	p, err := a.poolOf(ctx, l.Client, l.Pool, call)
	if err != nil {
		return err
	}
	a.cache.drop(n)
	m := lease.Release{Lease: l.grant()}
	d := a.newRunner(n, p, l.Region, call)
	last, err := d.run(ctx, &m)
	a.cache.drop(n)
	if err != nil {
		return err
	}
	return lossError(last)
}

// lossError returns the error of a lost lease, nil if the step is not Lost.
func lossError(last lease.Step) error {
	if last.Action != lease.Lost {
		return nil
	}
	switch last.Loss {
	case lease.LossReleased:
		return ErrReleased
	case lease.LossSuperseded:
		return ErrSuperseded
	case lease.LossStale:
		return ErrStale
	default:
		return ErrEnded
	}
}

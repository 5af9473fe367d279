package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// name is what a lease is of.
type name struct{ client, pool, key string }

// drive carries out what a machine asks for, until it is done.
type drive struct {
	a     *Agent
	name  name
	pool  *pool
	terms *lease.Terms
	call  *Call
}

// mostSteps is more than a machine takes unless something writes against it all the time.
const mostSteps = 1000

// run carries out step and what comes after it. begin starts again after a wait.
func (d *drive) run(ctx context.Context, step lease.Step, begin func() lease.Step, next func(lease.Seen) lease.Step) (lease.Step, error) {
	for range mostSteps {
		seen := lease.Seen{}
		var err error
		switch step.Do {
		case lease.ReadKeys:
			d.call.RoundTrips++
			seen.Keys, err = d.a.table.keys(ctx, d.terms.Region, lease.KeyRows(d.name.client, d.name.pool, d.name.key))
		case lease.Pick:
			d.call.Tries++
			seen.Pick, seen.OK, err = d.pool.pick(ctx, d.call)
		case lease.WriteKey, lease.WriteRes:
			d.call.RoundTrips++
			seen.Row, seen.OK, err = d.write(ctx, &step)
		case lease.WaitUntil:
			if err = sleepUntil(ctx, time.UnixMilli(step.Until)); err == nil {
				step = begin()
				continue
			}
		default:
			return step, nil
		}
		if err != nil {
			return step, err
		}
		seen.Now = time.Now().UnixMilli()
		step = next(seen)
	}
	return step, fmt.Errorf("%w: key %q was not settled in %d steps", ErrUnavailable, d.name.key, mostSteps)
}

// write makes the write of a step. A resource that comes back is put on another shelf, so that none runs empty or over.
func (d *drive) write(ctx context.Context, s *lease.Step) (lease.Row, bool, error) {
	with := leasetable.Item{}
	if s.Do == lease.WriteKey {
		if s.Write.Args.State == lease.Pending {
			with[leasetable.GrantedAt] = leasetable.N(s.Write.Now)
		}
		p := lease.Primary{Partition: lease.KeyRows(d.name.client, d.name.pool, d.name.key), Sort: s.Region}
		return d.a.table.write(ctx, s.Region, p, &s.Write, with)
	}
	if s.Write.Args.Available > 0 {
		with[leasetable.Shard] = leasetable.S(lease.Shelf(d.name.client, d.name.pool, s.Region, rand.IntN(d.pool.settings.Shelves)))
	}
	return d.a.table.write(ctx, s.Region, lease.ResourceRow(d.name.client, s.Resource), &s.Write, with)
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// name is what a lease is of.
type name struct{ client, pool, key string }

// drive carries out what a machine asks for, until it is done.
type drive struct {
	a         *Agent
	name      name
	partition string // of the key's rows
	pool      *pool
	terms     *lease.Terms
	call      *Call
}

// machine is one of the protocol's.
type machine interface {
	Begin(t *lease.Terms, now int64) lease.Step
	Next(t *lease.Terms, seen lease.Seen) lease.Step
}

func (a *Agent) drive(n name, p *pool, region string, call *Call) drive {
	terms := &lease.Terms{
		Rules: a.rules, Region: region, Key: lease.Holder(n.pool, n.key), Skew: a.cfg.Skew.Milliseconds(), Quarantine: p.settings.Load().Quarantine.Milliseconds(),
	}
	return drive{a: a, name: n, partition: lease.KeyRows(n.client, n.pool, n.key), pool: p, terms: terms, call: call}
}

// mostSteps is more than a machine takes unless something writes against it all the time.
const mostSteps = 1000

// run carries out what m asks for, to its end. After a wait m begins again.
func (d *drive) run(ctx context.Context, m machine) (lease.Step, error) {
	step := m.Begin(d.terms, time.Now().UnixMilli())
	for range mostSteps {
		seen := lease.Seen{}
		var err error
		switch step.Do {
		case lease.ReadKeys:
			d.call.RoundTrips++
			seen.Keys, err = d.a.table.Keys(ctx, d.terms.Region, d.partition)
		case lease.Pick:
			d.call.Tries++
			seen.Pick, seen.OK, err = d.pool.pick(ctx, d.call)
		case lease.WriteKey, lease.WriteRes:
			d.call.RoundTrips++
			seen.Row, seen.OK, err = d.write(ctx, &step)
		case lease.WaitUntil:
			if err = sleepUntil(ctx, time.UnixMilli(step.Until)); err == nil {
				step = m.Begin(d.terms, time.Now().UnixMilli())
				continue
			}
		default:
			return step, nil
		}
		if err != nil {
			return step, err
		}
		seen.Now = time.Now().UnixMilli()
		step = m.Next(d.terms, seen)
	}
	return step, fmt.Errorf("%w: key %q was not settled in %d steps", ErrUnavailable, d.name.key, mostSteps)
}

// write makes the write of a step. A resource that comes back is put on another shelf, so that none runs empty or over.
func (d *drive) write(ctx context.Context, s *lease.Step) (lease.Row, bool, error) {
	with, now := table.Item{}, d.pool.settings.Load()
	if err := d.a.mayWrite(s.Region); err != nil {
		return lease.Row{}, false, err
	}
	if s.Do == lease.WriteKey {
		if s.Write.Args.State == lease.Pending {
			with[table.GrantedAt] = table.N(s.Write.Now)
		}
		return d.a.table.Write(ctx, s.Region, lease.Primary{Partition: d.partition, Sort: s.Region}, &s.Write, with)
	}
	if s.Write.Args.Available > 0 {
		with[table.Shard] = table.S(lease.Shelf(d.name.client, d.name.pool, s.Region, rand.IntN(now.Shelves)))
	}
	return d.a.table.Write(ctx, s.Region, lease.ResourceRow(d.name.client, s.Resource), &s.Write, with)
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

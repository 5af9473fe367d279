package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// leaseName identifies a lease.
type leaseName struct{ client, pool, key string }

// runner executes the steps of a state machine.
type runner struct {
	a         *Agent
	name      leaseName
	partition string // partition key of the key's rows
	pool      *pool
	params    *lease.Params
	call      *Call
}

// stateMachine is Get, Renew or Release of package lease.
type stateMachine interface {
	Begin(t *lease.Params, now int64) lease.Step
	Next(t *lease.Params, seen lease.Observation) lease.Step
}

func (a *Agent) newRunner(n leaseName, p *pool, region string, call *Call) runner {
	terms := &lease.Params{
		Rules: a.rules, Region: region, Holder: lease.Holder(n.pool, n.key), Skew: a.cfg.Skew.Milliseconds(),
		Quarantine: p.settings.Load().Quarantine.Milliseconds(),
	}
	return runner{a: a, name: n, partition: lease.KeyPartition(n.client, n.pool, n.key), pool: p, params: terms, call: call}
}

// maxSteps is a limit that a state machine reaches only if another process conflicts with it
// continuously.
const maxSteps = 1000

// run executes the steps of m to its end. After WaitUntil, m begins again.
func (d *runner) run(ctx context.Context, m stateMachine) (lease.Step, error) {
	step := m.Begin(d.params, time.Now().UnixMilli())
	for range maxSteps {
		seen := lease.Observation{}
		var err error
		switch step.Action {
		case lease.ReadKeys:
			d.call.RoundTrips++
			seen.Keys, err = d.a.table.Keys(ctx, d.params.Region, d.partition)
		case lease.Pick:
			d.call.Tries++
			seen.Pick, seen.OK, err = d.pool.pick(ctx, d.call)
		case lease.WriteKey, lease.WriteResource:
			d.call.RoundTrips++
			seen.Row, seen.OK, err = d.write(ctx, &step)
		case lease.WaitUntil:
			if err = sleepUntil(ctx, time.UnixMilli(step.Until)); err == nil {
				step = m.Begin(d.params, time.Now().UnixMilli())
				continue
			}
		default:
			return step, nil
		}
		if err != nil {
			return step, err
		}
		seen.Now = time.Now().UnixMilli()
		step = m.Next(d.params, seen)
	}
	return step, fmt.Errorf("%w: key %q had conflicts in %d steps", ErrUnavailable, d.name.key, maxSteps)
}

// write makes the write of a step. A resource that becomes available gets a random bucket, which
// keeps buckets equally full.
func (d *runner) write(ctx context.Context, s *lease.Step) (lease.Row, bool, error) {
	with, now := table.Item{}, d.pool.settings.Load()
	if err := d.a.checkWriteLease(s.Region); err != nil {
		return lease.Row{}, false, err
	}
	if s.Action == lease.WriteKey {
		if s.Write.Args.State == lease.Pending {
			with[table.GrantedMs] = table.N(s.Write.Now)
		}
		return d.a.table.Write(ctx, s.Region, lease.PrimaryKey{Partition: d.partition, Sort: s.Region}, &s.Write, with)
	}
	if s.Write.Args.Available > 0 {
		with[table.Bucket] = table.S(lease.Bucket(d.name.client, d.name.pool, s.Region, rand.IntN(now.Buckets)))
	}
	return d.a.table.Write(ctx, s.Region, lease.ResourceRow(d.name.client, s.Resource), &s.Write, with)
}

func sleepUntil(ctx context.Context, at time.Time) error {
	if !pause.For(ctx, time.Until(at)) {
		return ctx.Err()
	}
	return nil
}

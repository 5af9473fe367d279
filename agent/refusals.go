package agent

import (
	"context"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// refusals counts the keys that got no lease because the pool is exhausted in the region. The rows
// of leases do not show such demand, and the balancer needs it.
type refusals struct {
	keys       map[string]time.Time // when each key was counted
	unreported int64
	reporting  bool
}

const (
	// refusalInterval is the minimum time between two writes of an agent for one pool.
	refusalInterval = time.Second
	// refusalWindow is the time in which a key that asks again is not counted again.
	refusalWindow = time.Minute
	// maxRefusalKeys limits the remembered keys. If there are more, some are counted twice.
	maxRefusalKeys = 10_000
)

// refused counts a key.
func (p *pool) refused(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, now := &p.refusals, time.Now()
	if at, known := r.keys[key]; known && now.Sub(at) < refusalWindow {
		return
	}
	if len(r.keys) >= maxRefusalKeys || r.keys == nil {
		r.keys = map[string]time.Time{}
	}
	r.keys[key] = now
	r.unreported++
	if !r.reporting {
		r.reporting = true
		p.a.goBackground(p.reportRefusals)
	}
}

// reportRefusals writes the number of refused keys, until none is left to report.
func (p *pool) reportRefusals(ctx context.Context) {
	row := lease.DemandRow(p.client, p.name, p.a.cfg.Region)
	for {
		p.mu.Lock()
		r := &p.refusals
		n := r.unreported
		r.unreported = 0
		if n == 0 {
			r.reporting = false
		}
		p.mu.Unlock()
		if n == 0 {
			return
		}
		p.a.logOutage("report refusals of "+p.client+"/"+p.name, p.a.table.Count(ctx, p.a.cfg.Region, row, table.RefusedTotal, n))
		if sleepUntil(ctx, time.Now().Add(refusalInterval)) != nil {
			return
		}
	}
}

package agent

import (
	"context"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// refusals counts the keys that were refused a lease because their pool is exhausted here. The table shows nothing of them,
// and whoever moves resources to where they are needed has to know.
type refusals struct {
	keys       map[string]time.Time // when each was counted
	unreported int64
	reporting  bool
}

const (
	// refusalInterval is how often refusals are told, at most: one small write for each agent, pool and region.
	refusalInterval = time.Second
	// refusalWindow is for how long a key that asks again and again is one.
	refusalWindow = time.Minute
	// maxRefusalKeys bounds the keys that are remembered: if there are more, some are counted twice.
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

// reportRefusals writes how many were refused, until there are none to tell of.
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
		p.a.logOutage("tell refusals of "+p.client+"/"+p.name, p.a.table.Count(ctx, p.a.cfg.Region, row, table.Refused, n))
		if sleepUntil(ctx, time.Now().Add(refusalInterval)) != nil {
			return
		}
	}
}

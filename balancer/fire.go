package balancer

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// tick sets the next timer after a time of day; 0: the first, at once.
func (b *Balancer) tick(nowMs int64) {
	if nowMs == 0 && b.ticking {
		return
	}
	b.ticking, b.changed = true, true
	at := int64(0)
	if nowMs > 0 {
		step := b.cfg.Tick.Milliseconds()
		at = (nowMs/step + 1) * step
	}
	b.task.Timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: at, Key: []byte("tick")})
}

// OnTimer looks at all pools, once a tick: what is about to run out gets more at once, and now and then there is a plan.
// What is known of a region that has had no fresh heartbeat is of the past, as all is while the log is read from its
// beginning: nothing is moved to or from it.
func (b *Balancer) OnTimer(nowMs int64, _ []stream.Timer) error {
	if b.broken != nil {
		return b.broken
	}
	b.tick(nowMs)
	b.firedMs = max(b.firedMs, nowMs)
	plans := nowMs-b.plannedMs >= b.cfg.Every.Milliseconds() || nowMs < b.plannedMs
	if plans {
		b.plannedMs = nowMs
	}
	now := b.now(nowMs)
	budget, first := b.cfg.MaxCommands, int(nowMs/b.cfg.Tick.Milliseconds())
	var gone []*pool
	b.stats.look(now.states)
	for i := range b.order {
		// Each time another pool is the first to spend what may be commanded.
		p := b.order[(i+first)%len(b.order)]
		views := b.look(p, now)
		moves := Pull(views, b.cfg.Limits)
		if plans {
			p.choose()
			b.complain(p, now)
			moves = Plan(views, b.cfg.Limits)
		}
		for _, m := range moves {
			if err := b.command(p, m, now, &budget); err != nil {
				return b.fail(err)
			}
		}
		if len(moves) > 0 {
			views = b.look(p, now)
		}
		b.stats.see(p, views, now.ms, &b.cfg.Limits)
		over := p.over()
		if over {
			gone = append(gone, p)
		} else {
			p.overMs = 0
		}
		if !over || p.sites[0].told != nil { // of one that is over the last that is told is that it has nothing
			b.tell(p, views, now)
		}
	}
	for _, p := range gone {
		if err := b.forget(p, now.ms); err != nil {
			return b.fail(err)
		}
	}
	return b.broken
}

// moment is what one firing knows of the regions.
type moment struct {
	ms     int64
	states []string
	lags   []int64
}

func (b *Balancer) now(ms int64) *moment {
	m := &moment{ms: ms}
	for i := range b.regions {
		m.states = append(m.states, b.standing(i, ms))
		m.lags = append(m.lags, b.lag(i, ms))
	}
	return m
}

// complain says once of each version of a pool's settings that floors are above all the pool has. They are then as high as
// what there is: a region gives nothing away, and that is all.
func (b *Balancer) complain(p *pool, now *moment) {
	if p.noted == p.settings.Version || len(p.settings.Floors) == 0 {
		return
	}
	stock := p.stock()
	for i, name := range b.cfg.Regions {
		floor := p.settings.Floors[name]
		if s := now.states[i]; floor <= stock || stock == 0 || s == StateSilent {
			continue
		}
		p.noted, p.changed = p.settings.Version, true
		b.note(p, &eventspb.LeaseNote{
			AtMs: now.ms, By: "balancer", Kind: "refused", From: name, Count: floor,
			Text: fmt.Sprintf("the floor of %d in %s is above the %d resources that the whole pool has: %s keeps what it has, and gets no more for it", floor, name, stock, name),
		})
	}
}

package balancer

import (
	"fmt"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// setTimer sets the next timer after a time of day. 0 sets the first timer, which is due at once.
func (b *Balancer) setTimer(nowMs int64) {
	if nowMs == 0 && b.ticking {
		return
	}
	b.ticking, b.changed = true, true
	at := int64(0)
	if nowMs > 0 {
		step := b.cfg.TickInterval.Milliseconds()
		at = (nowMs/step + 1) * step
	}
	b.task.Timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: at, Key: []byte("tick")})
}

// OnTimer evaluates all pools once a tick: regions that are about to run out get resources at once,
// and every PlanInterval there is a plan. Nothing moves to or from a region without a fresh
// heartbeat, as its counts are stale. This includes all regions while the log is read from its
// beginning.
func (b *Balancer) OnTimer(nowMs int64, _ []stream.Timer) error {
	if b.broken != nil {
		return b.broken
	}
	b.setTimer(nowMs)
	b.firedMs = max(b.firedMs, nowMs)
	plans := nowMs-b.plannedMs >= b.cfg.PlanInterval.Milliseconds() || nowMs < b.plannedMs
	if plans {
		b.plannedMs = nowMs
	}
	now := b.newTick(nowMs)
	budget, first := b.cfg.MaxCommands, int(nowMs/b.cfg.TickInterval.Milliseconds())
	var gone []*pool
	b.stats.begin(now.states)
	for i := range b.order {
		// Each tick another pool is the first to use the budget of commands.
		p := b.order[(i+first)%len(b.order)]
		views := b.refreshViews(p, now)
		moves := plan.Pulls(views, b.cfg.Limits)
		if plans {
			p.choose()
			b.noteHighFloors(p, now)
			moves = plan.Moves(views, b.cfg.Limits)
		}
		for _, m := range moves {
			if err := b.command(p, m, now, &budget); err != nil {
				return b.fail(err)
			}
		}
		if len(moves) > 0 {
			views = b.refreshViews(p, now)
		}
		b.stats.addPool(p, views, now.ms, b.cfg.Limits)
		over := p.isEmpty()
		if over {
			gone = append(gone, p)
		} else {
			p.emptySinceMs = 0
		}
		if !over || p.regions[0].published != nil { // the last headroom of an empty pool shows that it has nothing
			b.publishHeadroom(p, views, now)
		}
	}
	for _, p := range gone {
		if err := b.forget(p, now.ms); err != nil {
			return b.fail(err)
		}
	}
	return b.broken
}

// tick is the time of one call of OnTimer, and the states of the regions at it.
type tick struct {
	ms     int64
	states []string
	lags   []int64
}

func (b *Balancer) newTick(ms int64) *tick {
	m := &tick{ms: ms}
	for i := range b.regions {
		m.states = append(m.states, b.viewState(i, ms))
		m.lags = append(m.lags, b.lag(i, ms))
	}
	return m
}

// noteHighFloors adds a journal entry, once for each version of a pool's settings, if a floor is
// above the number of all resources of the pool. Such a floor means that the region gives nothing
// away.
func (b *Balancer) noteHighFloors(p *pool, now *tick) {
	if p.floorsNoted == p.settings.Version || len(p.settings.Floors) == 0 {
		return
	}
	stock := p.stock()
	for i, name := range b.cfg.Regions {
		floor := p.settings.Floors[name]
		if s := now.states[i]; floor <= stock || stock == 0 || s == plan.StateSilent {
			continue
		}
		p.floorsNoted, p.changed = p.settings.Version, true
		b.note(p, &eventspb.LeaseJournalEntry{
			AtMs: now.ms, By: "balancer", Kind: "refused", From: name, Count: floor,
			Text: fmt.Sprintf(
				"the floor of %d in %s is above the %d resources that the whole pool has: %s keeps what it has, and gets no more for it",
				floor, name, stock, name),
		})
	}
}

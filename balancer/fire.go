package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/stream"
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

// Fire looks at all pools, once a tick: what is about to run out gets more at once, and now and then there is a plan.
// What is known of a region that has had no fresh heartbeat is of the past, as all is while the log is read from its
// beginning: nothing is moved to or from it.
func (b *Balancer) Fire(nowMs int64, _ []stream.Timer) error {
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
		b.tell(p, views, now)
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

// look brings a pool's counts up to now, and gives its views.
func (b *Balancer) look(p *pool, now *moment) []View {
	b.expire(p, now.ms)
	views := make([]View, len(p.sites))
	for i := range p.sites {
		s, r := &p.sites[i], &b.regions[i]
		s.ripen(now.ms)
		if before := s.series.step; r.clockMs > 0 && !s.series.empty() {
			// Only the region's own time says that nobody came: a stream that is behind does not.
			if s.series.Advance(r.clockMs, s.profile); s.series.step != before {
				b.touch(s)
			}
		}
		views[i] = b.view(p, i, now)
	}
	return views
}

// view is how a pool stands in region i.
func (b *Balancer) view(p *pool, i int, now *moment) View {
	s, horizon := &p.sites[i], DefaultHorizon.Milliseconds()
	v := View{
		Region: b.cfg.Regions[i], State: b.state(p, now, i), LagMs: now.lags[i], Free: max(0, s.free-s.barred), Leased: s.leases,
		Near: s.ripening.between(0, (now.ms+nearby.Milliseconds())/freeGrain), Coming: s.coming, Leaving: s.leaving,
		Recent: s.series.Recent(now.ms), Floor: p.settings.Floors[b.cfg.Regions[i]], Horizon: horizon,
	}
	var spread float64
	v.Rate, spread = s.series.Forecast(p.method, s.profile)
	v.Need = ceil((v.Rate + b.cfg.Margin*spread) * DefaultHorizon.Seconds())
	// A lease's end is one resource more after the quarantine, if it is not renewed. One that ended a while ago and is still
	// leased was not liberated; nobody knows when it will be.
	q := p.settings.QuarantineMs
	ends := s.leased.between((now.ms-q-60_000)/leasedGrain, (now.ms+horizon-q)/leasedGrain-1)
	v.Soon = s.ripening.between(0, (now.ms+horizon)/freeGrain) + int64(b.cfg.Return*float64(ends))
	return v
}

// state is a region's state for a pool.
func (b *Balancer) state(p *pool, now *moment, i int) string {
	switch s := now.states[i]; {
	case s != StateActive && s != StateEvacuating:
		return s
	case p.settings.Balance == "off":
		return StateOff
	case p.readMs > 0 && now.ms-p.readMs < readFor.Milliseconds():
		return StateReading
	default:
		return s
	}
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

// command makes a move: it picks the resources and tells the executor of their region.
func (b *Balancer) command(p *pool, m Move, now *moment, budget *int) error {
	from, to := b.region(m.From), b.region(m.To)
	list, err := b.pick(p, from, int(min(m.Count, int64(*budget))), now.ms)
	if err != nil || len(list) == 0 {
		return err
	}
	*budget -= len(list)
	until := now.ms + b.cfg.Patience.Milliseconds()
	for _, c := range list {
		f := &flight{from: from, to: to, version: c.version, untilMs: until + grace.Milliseconds()}
		b.launch(p, c.resource, f)
		b.send(from, p, &eventspb.LeaseCommand{
			Id: f.id, Client: p.client, Pool: p.name, Region: m.From, By: "balancer", Why: m.Why, DecidedMs: now.ms, NotAfterMs: until,
			Command: &eventspb.LeaseCommand_Transfer{Transfer: &eventspb.LeaseTransfer{
				Resource: c.resource, Version: c.version, To: m.To, Shelves: p.settings.Shelves,
			}},
		})
	}
	text := m.Why
	if n := int64(len(list)); n < m.Count {
		text += fmt.Sprintf(", %d of them at once", n)
	}
	b.note(p, &eventspb.LeaseNote{AtMs: now.ms, By: "balancer", Kind: m.Kind, From: m.From, To: m.To, Count: int64(len(list)), Text: text})
	return nil
}

func (b *Balancer) note(p *pool, n *eventspb.LeaseNote) {
	n.Client, n.Pool = p.client, p.name
	b.emit(OutputJournal, p.key, n)
}

func (b *Balancer) send(region int, p *pool, c *eventspb.LeaseCommand) {
	b.emit(OutputCommands+region, p.key, c)
}

// emit keeps a record for the next Flush.
func (b *Balancer) emit(to int, key string, m proto.Message) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil { // a name that is not UTF-8 came through all checks
		_ = b.fail(fmt.Errorf("output %d of %q: %w", to, key, err))
		return
	}
	b.out = append(b.out, output{to, key, value})
	b.dirty += len(key) + len(value)
}

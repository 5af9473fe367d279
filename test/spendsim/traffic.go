package spendsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

const (
	epochMs   = int64(1_767_600_000_000) // 2026-01-05 08:00 UTC
	budgetDay = 20260105
	account   = "acme"
	price     = 10_000 // micros of a click: 0.01 USD
	usd       = "USD"
	open      = "open" // the campaign without a budget
)

// copyOf is one of the copies of a record that are sent.
type copyOf struct {
	to int
	at int64
}

// click is a click as it is drawn, for all campaigns alike.
type click struct {
	typ    eventspb.EventType
	number int
	copies []copyOf
}

// refund is a refund as it is drawn, for all campaigns alike.
type refund struct {
	micros  int64
	serving int
	number  int
	copies  []copyOf
}

// traffic draws what happens to the campaigns. It has random numbers of its own, and draws as many
// whatever else happens. So the traffic is the same under all policies and with all faults.
type traffic struct {
	s      *Scenario
	rng    *rand.Rand
	number int
}

// clicks draws the clicks of a step in a datacentre.
func (t *traffic) clicks(now int64, serving int) (list []click) {
	for range t.poisson(t.s.Rate * stepMs / 1000) {
		t.number++
		c := click{eventspb.EventType_EVENT_TYPE_CLICK, t.number, t.copies(now, serving, 40)}
		if t.rng.IntN(5) == 0 {
			c.typ = eventspb.EventType_EVENT_TYPE_VIDEO_VIEW
		}
		list = append(list, c)
	}
	return list
}

// refunds draws the refunds of a step in a datacentre.
func (t *traffic) refunds(now int64, dc int) (list []refund) {
	if t.rng.IntN(40) == 0 {
		t.number++
		list = append(list, refund{1 + t.rng.Int64N(2*price), t.rng.IntN(t.s.DCs), t.number, t.copies(now, dc, 10)})
	}
	return list
}

// copies draws when and where a record is sent. Of twice records, one is sent a second time.
func (t *traffic) copies(now int64, dc, twice int) (list []copyOf) {
	times := 1
	if t.rng.IntN(twice) == 0 {
		times = 2
	}
	for i := range times {
		c := copyOf{dc, now + t.rng.Int64N(400) + int64(i)*t.rng.Int64N(3000)}
		if other := t.rng.IntN(t.s.DCs); t.rng.IntN(10) == 0 && t.s.Cross {
			c.to = other
		}
		list = append(list, c)
	}
	return list
}

// poisson draws a number with a small mean.
func (t *traffic) poisson(mean float64) (n int) {
	for p, limit := t.rng.Float64(), math.Exp(-mean); p > limit; p *= t.rng.Float64() {
		n++
	}
	return n
}

// delivery is a record that waits for brokers.
type delivery struct {
	entry
	sent   int64
	twice  bool // there is another copy
	server int  // the ad server that sends it
}

// ledger is the truth about a campaign, in micros.
type ledger struct {
	spent
	surplus int64 // that a counter may charge beside: for late duplicates, and of one that charges too much
}

// spent is the charges and refunds of a campaign, in micros.
type spent struct{ charged, refunded int64 }

func (s spent) net() int64 { return s.charged - s.refunded }

// serve serves the clicks of a step. The ad servers serve a campaign while the spend that they have
// read is below the budget.
func (w *simulation) serve() {
	budget := int64(w.s.Budget) * price
	for dc, d := range w.dcs {
		clicks, refunds := w.traffic.clicks(w.now, dc), w.traffic.refunds(w.now, dc)
		if d.ring == 0 {
			continue
		}
		for p := range policies {
			if w.now >= servedMs {
				break
			}
			l := w.ledger(p.String())
			serves := d.serves(p, budget)
			for i := range clicks {
				left := budget - l.net()
				switch {
				case serves && left <= 0:
					w.over[p]++
				case !serves && left >= price:
					w.starved[p]++
				}
				if serves {
					w.click(dc, p.String(), &clicks[i])
				}
			}
		}
		for i := range clicks {
			w.click(dc, open, &clicks[i])
		}
		for i := range refunds {
			for p := range policies {
				w.refund(dc, p.String(), &refunds[i])
			}
			w.refund(dc, open, &refunds[i])
		}
	}
	if w.now%5000 == 0 { // a campaign with one click
		dc := w.existing(int(w.now/5000)%len(w.dcs), 0)
		w.click(dc, fmt.Sprintf("single-%d", w.now), &click{eventspb.EventType_EVENT_TYPE_CLICK, int(w.now), []copyOf{{dc, w.now}}})
	}
}

// ledger returns the truth about a campaign.
func (w *simulation) ledger(campaign string) *ledger {
	if w.ledgers[campaign] == nil {
		w.ledgers[campaign] = &ledger{}
	}
	return w.ledgers[campaign]
}

// click hands a click to the brokers.
func (w *simulation) click(serving int, campaign string, c *click) {
	l := w.ledger(campaign)
	l.charged += price
	most := int64(price)
	for dc := range w.dcs {
		most = max(most, w.price(dc, w.now))
	}
	l.surplus += most - price
	for _, to := range c.copies {
		to.to = w.existing(to.to, serving)
		e := &eventspb.AdEvent{
			EventId: fmt.Sprintf("e%d-%s", c.number, campaign), Type: c.typ, Account: account, Campaign: campaign, PriceMicros: price,
			Currency: usd, BudgetDay: budgetDay, EventMs: w.wall(serving), ServingDc: names[serving],
			IngestMs: epochMs + to.at + w.s.Skew[to.to],
		}
		x := delivery{entry{Record: stream.Record{Value: events.AppendEvent(nil, e)}, event: e}, to.at, len(c.copies) > 1, c.number % 2}
		w.dcs[to.to].waiting = append(w.dcs[to.to].waiting, x)
	}
}

// existing returns a datacentre, or another one if it does not exist yet.
func (w *simulation) existing(dc, otherwise int) int {
	if w.dcs[dc].ring == 0 {
		return otherwise
	}
	return dc
}

// price returns what a counter charges for a click that was served at a time.
func (w *simulation) price(dc int, served int64) int64 {
	if w.faults.overCounts(dc, served) {
		return price * 5 / 4
	}
	return price
}

// priceOf returns what a counter charges for an event.
func (w *simulation) priceOf(dc int, e *eventspb.AdEvent) int64 {
	serving := slices.Index(names[:], e.ServingDc)
	return w.price(dc, e.EventMs-epochMs-w.s.Skew[serving])
}

// refund hands a refund to the brokers.
func (w *simulation) refund(dc int, campaign string, r *refund) {
	w.ledger(campaign).refunded += r.micros
	for _, to := range r.copies {
		to.to = w.existing(to.to, dc)
		a := &eventspb.Adjustment{
			ReferenceId: fmt.Sprintf("r%d-%s", r.number, campaign), Account: account, Campaign: campaign, Micros: r.micros, Currency: usd,
			BudgetDay: budgetDay, ServingDc: names[r.serving], IngestMs: epochMs + to.at + w.s.Skew[to.to],
		}
		value, err := proto.Marshal(a)
		if err != nil {
			w.fail("ERROR", "the refund of %s: %v", names[dc], err)
		}
		x := delivery{entry{Record: stream.Record{Value: value}, adjustment: a}, to.at, false, 0}
		w.dcs[to.to].waiting = append(w.dcs[to.to].waiting, x)
	}
}

// append writes what waits to the logs of a datacentre.
func (w *simulation) append(dc int) {
	d := w.dcs[dc]
	if w.faults.on(StopKafka, dc) {
		return
	}
	if w.now%1000 == 0 && !w.faults.on(StopMirror, dc) {
		e := &eventspb.AdEvent{Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT, IngestMs: w.wall(dc)}
		d.take(w, dc, &delivery{entry: entry{Record: stream.Record{Value: events.AppendEvent(nil, e)}, event: e}})
		d.events.skip(1) // the marker
	}
	if w.chance.IntN(50) == 0 {
		d.events.skip(2) // an aborted transaction
	}
	// Each ad server sends what it has in order. After an outage, the events of one may be behind
	// newer ones of another.
	slices.SortStableFunc(d.waiting, func(a, b delivery) int { return a.server - b.server })
	keep := d.waiting[:0]
	for i := range d.waiting {
		if x := d.waiting[i]; x.sent > w.now {
			keep = append(keep, x)
		} else {
			d.take(w, dc, &x)
		}
	}
	d.waiting = keep
}

// take appends a record to the log of its kind.
func (d *datacentre) take(w *simulation, dc int, x *delivery) {
	x.at, x.TimeMs = w.now, w.wall(dc)
	if x.adjustment != nil {
		d.adjustments.add(x.entry)
		return
	}
	if d.order.late(x.event) {
		w.marks["events late"]++
		if x.twice { // each copy that is late is charged
			w.ledger(x.event.Campaign).surplus += price * 5 / 4
		}
	}
	d.events.add(x.entry)
}

package spendsim

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

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

package loadgen

import (
	"math"
	"strconv"

	"github.com/weirhq/weir/events/eventspb"
)

const (
	minDelayMs   = 400     // from an impression to its click
	delayRangeMs = 1 << 14 // of the delay above minDelayMs
	maxLagMs     = 256     // from an impression to its ingest time
)

// pick draws a campaign.
func (g *Generator) pick(nowMs int64) int {
	i := g.traffic.sample(g.rng.Uint64())
	for quarter := nowMs % dayMs / quarterMs; !g.cfg.Flat; i = g.traffic.sample(g.rng.Uint64()) {
		if uint32(g.rng.Uint64()%fixedOne) < g.cycles[g.campaigns[i].profile][quarter] {
			break
		}
	}
	return i
}

// mostOffers is the number of campaigns that an ad request is offered to.
const mostOffers = 100

// winner draws a campaign that takes part in an auction.
func (g *Generator) winner(nowMs int64) (i int, ok bool) {
	if g.cfg.TakesPart == nil {
		return g.pick(nowMs), true
	}
	request := string(g.idText(nil, g.last)) + "." + strconv.FormatUint(g.requests, 10)
	for range mostOffers {
		i = g.pick(nowMs)
		if c := &g.campaigns[i]; g.cfg.TakesPart(string(g.accounts[c.account]), c.name(), request) {
			return i, true
		}
	}
	return 0, false
}

// impression returns an impression with the number g.last and may schedule a click on it. ok is
// false if no campaign takes part in the auction.
func (g *Generator) impression(nowMs int64) (e event, ok bool) {
	i, ok := g.winner(nowMs)
	if !ok {
		return e, false
	}
	c := &g.campaigns[i]
	r := g.rng.Uint64()
	lag, quantile, delay := r%maxLagMs, r>>8%priceSteps, r>>20%delayRangeMs
	price := max(1, c.medianMicros*g.prices[quantile]/fixedOne)
	e = event{campaign: int32(i), eventType: eventspb.EventType_EVENT_TYPE_IMPRESSION, eventMs: nowMs - int64(lag)}
	if !g.cfg.NoInsertions {
		e.insertionID = g.last
	}
	click, expected := e, price
	if c.perClick {
		click.priceMicros, expected = price, int64(math.Round(float64(price)*max(0, g.cfg.ClickRate)))
	} else {
		e.priceMicros = price
	}
	if g.cfg.Shown != nil {
		g.cfg.Shown(string(g.accounts[c.account]), c.name(), expected)
	}
	if g.clickLimit > 0 && g.rng.Uint64() < g.clickLimit {
		click.eventType = eventspb.EventType_EVENT_TYPE_CLICK
		click.eventMs += minDelayMs + int64(delay)
		g.pending.push(click)
	}
	return e, true
}

// maxPending bounds the scheduled clicks: at very high rates the click rate decreases and the
// memory does not grow.
const maxPending = 1 << 18

// clickHeap is a binary heap of clicks by event time and, at equal times, by the number of the
// impression. It is not a container/heap, which would allocate an interface value for each click.
type clickHeap []event

func (c clickHeap) less(i, j int) bool {
	if c[i].eventMs != c[j].eventMs {
		return c[i].eventMs < c[j].eventMs
	}
	return c[i].insertionID < c[j].insertionID
}

// push adds e unless the heap is full.
func (c *clickHeap) push(e event) {
	if len(*c) >= maxPending {
		return
	}
	*c = append(*c, e)
	h := *c
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop removes and returns the earliest click if its event time is not after nowMs.
func (c *clickHeap) pop(nowMs int64) (event, bool) {
	h := *c
	if len(h) == 0 || h[0].eventMs > nowMs {
		return event{}, false
	}
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*c = h
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return first, true
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

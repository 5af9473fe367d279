package loadgen

import "github.com/weirhq/weir/events/eventspb"

const (
	minDelayMs   = 400 // between an impression and its click
	delayRangeMs = 1 << 14
	maxLagMs     = 256 // between an impression and its arrival
)

// impression draws an impression and, perhaps, the click that will follow it. Its id will be g.next.
func (g *Generator) impression(nowMs int64) event {
	i := g.traffic.pick(g.rng.Uint64())
	for quarter := nowMs % dayMs / quarterMs; !g.cfg.Flat; i = g.traffic.pick(g.rng.Uint64()) {
		if uint32(g.rng.Uint64()%shapeOne) < g.shapes[g.campaigns[i].profile][quarter] {
			break
		}
	}
	c := &g.campaigns[i]
	r := g.rng.Uint64()
	lag, quantile, delay := r%maxLagMs, r>>8%priceSteps, r>>20%delayRangeMs
	price := max(1, c.median*g.prices[quantile]/shapeOne)
	e := event{campaign: int32(i), kind: eventspb.EventType_EVENT_TYPE_IMPRESSION, eventMs: nowMs - int64(lag)}
	if !g.cfg.NoInsertions {
		e.insertion = g.next
	}
	click := e
	if c.perClick {
		click.price = price
	} else {
		e.price = price
	}
	if g.clickBelow > 0 && g.rng.Uint64() < g.clickBelow {
		click.kind = eventspb.EventType_EVENT_TYPE_CLICK
		click.eventMs += minDelayMs + int64(delay)
		g.pending.push(click)
	}
	return e
}

// maxPending bounds the clicks that are waiting for their time: at very high rates there are fewer clicks, not more
// memory.
const maxPending = 1 << 18

// clicks is a binary heap of clicks by the time they happen at; of two at one time, the one of the earlier impression
// comes first.
type clicks []event

func (c clicks) less(i, j int) bool {
	if c[i].eventMs != c[j].eventMs {
		return c[i].eventMs < c[j].eventMs
	}
	return c[i].insertion < c[j].insertion
}

func (c *clicks) push(e event) {
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

// pop takes the earliest click, if its time has come.
func (c *clicks) pop(nowMs int64) (event, bool) {
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

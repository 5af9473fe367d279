package spendcounter

import "github.com/weirhq/weir/events/eventspb"

// numTypes bounds the event types that are charged. All types that events.KnownEventType accepts
// are below, except the heartbeat.
const numTypes = int(eventspb.EventType_EVENT_TYPE_CONVERSION) + 1

// entry is the spend of one campaign day in memory: one cache line, no pointer. Impressions and
// clicks of one serving datacentre, which is all that most campaigns have, are stored inline. The
// rest is in a spill.
type entry struct {
	charged, refunded   int64 // of dc
	impressions, clicks uint64
	duplicates          uint64
	asOfMs              int64
	keyAt               uint32 // in the key arena, in units of keyAlign
	keyLen              uint16
	dc                  uint16 // noDC before the first event
	epoch               uint32 // of the last change; the cache's epoch: changed since the last flush
	spill               uint32 // number + 1 of the spill; 0: none
}

// part is the spend of one serving datacentre in an entry.
type part struct {
	dc                uint16
	charged, refunded int64
	counts            [numTypes]uint64 // by type
}

func (p *part) add(q *part) {
	p.charged += q.charged
	p.refunded += q.refunded
	for t, n := range q.counts {
		p.counts[t] += n
	}
}

func (p *part) empty() bool { return *p == part{dc: p.dc} }

// charge adds an event to e.
func (c *cache) charge(e *entry, dc uint16, typ uint8, micros int64) {
	if e.dc == noDC {
		e.dc = dc
	}
	if e.dc == dc {
		e.charged += micros
		switch eventspb.EventType(typ) {
		case eventspb.EventType_EVENT_TYPE_IMPRESSION:
			e.impressions++
		case eventspb.EventType_EVENT_TYPE_CLICK:
			e.clicks++
		default:
			c.part(e, dc).counts[typ]++
		}
		return
	}
	p := c.part(e, dc)
	p.charged += micros
	p.counts[typ]++
}

// refund adds a refund to e.
func (c *cache) refund(e *entry, dc uint16, micros int64) {
	if e.dc == noDC {
		e.dc = dc
	}
	if e.dc == dc {
		e.refunded += micros
	} else {
		c.part(e, dc).refunded += micros
	}
}

// sums returns the charges and the refunds of all serving datacentres. They do not overflow: they
// are a part of the task's.
func (c *cache) sums(e *entry) (charged, refunded int64) {
	charged, refunded = e.charged, e.refunded
	if e.spill != 0 {
		for i := range c.spills[e.spill-1] {
			p := &c.spills[e.spill-1][i]
			charged, refunded = charged+p.charged, refunded+p.refunded
		}
	}
	return charged, refunded
}

// part returns the part of dc in the spill of e. It makes a missing part.
func (c *cache) part(e *entry, dc uint16) *part {
	if e.spill == 0 {
		c.spills = append(c.spills, nil)
		e.spill = uint32(len(c.spills))
	}
	list := &c.spills[e.spill-1]
	for i := range *list {
		if (*list)[i].dc == dc {
			return &(*list)[i]
		}
	}
	*list = append(*list, part{dc: dc})
	return &(*list)[len(*list)-1]
}

// inline returns the inline part of e.
func (e *entry) inline() part {
	p := part{dc: e.dc, charged: e.charged, refunded: e.refunded}
	p.counts[eventspb.EventType_EVENT_TYPE_IMPRESSION] = e.impressions
	p.counts[eventspb.EventType_EVENT_TYPE_CLICK] = e.clicks
	return p
}

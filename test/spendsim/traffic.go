package spendsim

import (
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/events/eventspb"
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

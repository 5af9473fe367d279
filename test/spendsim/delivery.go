package spendsim

import (
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// delivery is a record that waits for brokers.
type delivery struct {
	entry
	sent   int64
	twice  bool // there is another copy
	server int  // the ad server that sends it
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

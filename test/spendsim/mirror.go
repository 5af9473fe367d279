package spendsim

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// mirror copies one log of an origin to a datacentre, as package mirror promises: copies and
// position are one transaction.
type mirror struct {
	w           *simulation
	origin, to  int
	adjustments bool
	source      *log
	copies      log

	at       int            // index of the next entry of source
	previous int64          // offset of the record before, whether its copy is lost or not; -1: none
	lost     map[int64]bool // offsets of source of which there is no copy
}

func newMirror(w *simulation, origin, to int, adjustments bool) *mirror {
	m := &mirror{w: w, origin: origin, to: to, adjustments: adjustments, previous: -1, lost: map[int64]bool{}}
	from := w.dcs[origin]
	m.source, m.copies.topic = &from.events, events.CopiedEventsTopic(names[origin])
	if adjustments {
		m.source, m.copies.topic = &from.adjustments, events.CopiedAdjustmentsTopic(names[origin])
	}
	return m
}

// batch is the greatest number of records of a transaction.
const batch = 500

// step copies what has arrived from the origin. aborts: the transaction aborts.
func (m *mirror) step(aborts bool) {
	lose := m.w.faults.on(LoseCopies, m.to)
	at, previous := m.at, m.previous
	var list []entry
	var gone []int64
	for ; at < len(m.source.entries) && len(list) < batch; at++ {
		e := &m.source.entries[at]
		if e.at+m.w.latency(m.origin, m.to) > m.w.now {
			break
		}
		if lose && m.w.chance.IntN(4) == 0 {
			hides := m.w.mutation == "mirror hides lost records" || m.w.mutation == "mirror hides lost refunds" && m.adjustments
			if gone = append(gone, e.Offset); !hides {
				previous = e.Offset
			}
			continue
		}
		c := entry{Record: e.Record, at: m.w.now, event: e.event, adjustment: e.adjustment}
		c.Headers = []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{
			Topic: [16]byte{1}, Offset: e.Offset, Previous: previous,
		})}}
		if m.w.mutation == "mirror forgets origins" && m.w.chance.IntN(50) == 0 {
			c.Headers = nil
		}
		list, previous = append(list, c), e.Offset
	}
	if aborts && len(list) > 0 {
		m.copies.skip(int64(len(list)) + 1)
		switch m.w.mutation {
		case "mirror copies aborted records":
			m.copies.next -= int64(len(list)) + 1
			m.add(list)
		case "mirror commits positions of aborted copies":
			m.at, m.previous = at, previous
		}
		return
	}
	m.add(list)
	for _, offset := range gone {
		m.lost[offset] = true
	}
	m.copies.skip(1) // the marker
	m.at, m.previous = at, previous
	if m.w.mutation == "mirror resumes one early" && m.w.faults.on(AbortMirror, m.to) && m.at > 1 {
		m.at, m.previous = m.at-1, m.source.entries[m.at-2].Offset
	}
}

func (m *mirror) add(list []entry) {
	for _, e := range list {
		m.copies.add(e)
	}
}

// missing returns how many offsets a counter of the copies has to report as lost: between two
// copies, those up to the last record that was not copied. Behind the last copy it cannot know.
func (m *mirror) missing() (offsets int64) {
	copied, gone := int64(-1), int64(-1)
	for i := range m.source.entries[:m.at] {
		offset := m.source.entries[i].Offset
		if m.lost[offset] {
			gone = offset
			continue
		}
		if copied >= 0 && gone > copied {
			offsets += gone - copied
		}
		copied = offset
	}
	return offsets
}

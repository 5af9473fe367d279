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

	at       int   // index of the next entry of source
	previous int64 // offset of the record before, whether its copy is lost or not
	began    bool
	lost     map[int64]bool // offsets of source of which there is no copy
}

// batch is the greatest number of records of a transaction.
const batch = 500

// step copies what has arrived from the origin. aborts: the transaction aborts.
func (m *mirror) step(aborts bool) {
	lose := m.w.faults.on(LoseCopies, m.to) && !m.adjustments
	at, previous := m.at, m.previous
	var list []stream.Record
	var gone []int64
	for ; at < len(m.source.entries) && len(list) < batch; at++ {
		e := &m.source.entries[at]
		if e.at+m.w.latency(m.origin, m.to) > m.w.now {
			break
		}
		if lose && m.began && m.w.rng.IntN(4) == 0 {
			if gone = append(gone, e.Offset); m.w.mutation != "mirror hides lost records" {
				previous = e.Offset
			}
			continue
		}
		rec := e.Record
		rec.Headers = []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{
			Topic: [16]byte{1}, Offset: e.Offset, Previous: previous,
		})}}
		if m.w.mutation == "mirror forgets origins" && m.w.rng.IntN(50) == 0 && !m.began {
			rec.Headers = nil
		}
		list, previous, m.began = append(list, rec), e.Offset, true
	}
	if aborts && len(list) > 0 {
		m.copies.skip(int64(len(list)) + 1)
		switch m.w.mutation {
		case "mirror copies aborted records":
			m.copies.next -= int64(len(list)) + 1
			for _, rec := range list {
				m.copies.add(m.w.now, rec)
			}
		case "mirror commits positions of aborted copies":
			m.at, m.previous = at, previous
		}
		return
	}
	for _, rec := range list {
		m.copies.add(m.w.now, rec)
	}
	for _, offset := range gone {
		m.lost[offset] = true
	}
	m.copies.skip(1) // the marker
	m.at, m.previous = at, previous
	if m.w.mutation == "mirror resumes one early" && m.w.faults.on(AbortMirror, m.to) && m.at > 1 {
		m.at, m.previous = m.at-1, m.source.entries[m.at-2].Offset
	}
}

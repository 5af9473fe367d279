package spendcounter

import (
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestLostAndRejected: what lies between two copies is lost only if it was a record. A rejected
// copy is not lost, and one that arrives again is neither lost nor rejected again. A restart from
// the task record and the log changes nothing.
func TestLostAndRejected(t *testing.T) {
	bad := func(e *eventspb.AdEvent) { e.PriceMicros = -1 }
	late := func(e *eventspb.AdEvent) { e.EventMs = epochMs - 3_600_000 }
	again := [16]byte{1}
	type step struct {
		at         events.Origin
		change     func(*eventspb.AdEvent)
		lost, bad  uint64 // of all time, after the step
		duplicates uint64
	}
	steps := []step{
		{at: events.Origin{Partition: 3, Offset: 4, Previous: 2}},                                  // the first copy: nothing before it is lost
		{at: events.Origin{Partition: 3, Offset: 6, Previous: 4}},                                  // 5 is a marker
		{at: events.Origin{Partition: 3, Offset: 20, Previous: 6}},                                 // 7 to 19 are of an aborted transaction
		{at: events.Origin{Partition: 3, Offset: 22, Previous: 21}, lost: 1},                       // 21 is lost
		{at: events.Origin{Partition: 3, Offset: 25, Previous: 22}, change: bad, lost: 1, bad: 1},  // 23 and 24 are markers
		{at: events.Origin{Partition: 3, Offset: 26, Previous: 25}, lost: 1, bad: 1},               // 25 was rejected
		{at: events.Origin{Partition: 3, Offset: 30, Previous: 28}, change: late, lost: 3, bad: 2}, // 27 and 28 are lost, 29 is a marker
		{at: events.Origin{Partition: 3, Offset: 31, Previous: 30}, lost: 3, bad: 2},               // 30 was rejected
		{at: events.Origin{Partition: 3, Offset: 25, Previous: 22}, change: bad, lost: 3, bad: 2, duplicates: 1},
		{at: events.Origin{Partition: 3, Offset: 30, Previous: 28}, change: late, lost: 3, bad: 2, duplicates: 2},
		{at: events.Origin{Partition: 3, Offset: 31, Previous: 30}, lost: 3, bad: 2, duplicates: 3},
		{at: events.Origin{Partition: 4, Offset: 9, Previous: 8}, change: bad, lost: 3, bad: 3, duplicates: 3}, // the first of another partition
		{at: events.Origin{Partition: 4, Offset: 11, Previous: 9}, lost: 3, bad: 3, duplicates: 3},
		{at: events.Origin{Topic: again, Partition: 3, Offset: 5, Previous: 4}, lost: 3, bad: 3, duplicates: 3}, // the topic was created again
		{at: events.Origin{Topic: again, Partition: 3, Offset: 9, Previous: 7}, lost: 5, bad: 3, duplicates: 3}, // 6 and 7 are lost
		{at: events.Origin{Topic: again, Partition: 3, Offset: 5, Previous: 4}, lost: 5, bad: 3, duplicates: 4},
	}
	topic := events.CopiedEventsTopic(otherDC)
	for _, size := range []int{1, 2, len(steps)} {
		cfg := testConfig()
		cfg.RejectLate = true
		s := newStore()
		c := mustNew(t, cfg, s)
		for from := 0; from < len(steps); from += size {
			b := &stream.Batch{Topic: topic, Partition: 3, NowMs: epochMs}
			last := steps[min(from+size, len(steps))-1]
			for i, x := range steps[from:min(from+size, len(steps))] {
				e := eventAt(from+i, epochMs)
				if x.change != nil {
					x.change(e)
				}
				b.Records = append(b.Records, stream.Record{
					Value: marshal(t, e), Offset: int64(from + i), TimeMs: epochMs, Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, x.at)}},
				})
			}
			if err := c.Fold(b); err != nil {
				t.Fatal(err)
			}
			s.next[topic] = int64(from + len(b.Records))
			s.flush(t, c, epochMs+int64(from)*healthMs)
			o := origins(s.taskState(t).Origins).of(otherDC)
			if o.Lost != last.lost || o.Rejected != last.bad || o.TransportDuplicates != last.duplicates {
				t.Fatalf("after %v: %d lost, %d rejected, %d again; want %d, %d, %d", last.at, o.Lost, o.Rejected, o.TransportDuplicates, last.lost, last.bad, last.duplicates)
			}
			if h := s.health(t).Origins[1]; h.Lost != o.Lost || h.Rejected != o.Rejected {
				t.Fatalf("the health has %v", h)
			}
			if got := c.Stats(); got.Lost != o.Lost || got.RejectedCopies != o.Rejected {
				t.Fatalf("the stats have %+v", got)
			}
			c = mustNew(t, cfg, s)
		}
	}
}

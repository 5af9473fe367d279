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
	type step struct {
		at         OriginOffset
		change     func(*eventspb.AdEvent)
		lost, bad  uint64 // of all time, after the step
		duplicates uint64
	}
	steps := []step{
		{at: OriginOffset{3, 4, 2}},                                  // the first copy: nothing before it is lost
		{at: OriginOffset{3, 6, 4}},                                  // 5 is a marker
		{at: OriginOffset{3, 20, 6}},                                 // 7 to 19 are of an aborted transaction
		{at: OriginOffset{3, 22, 21}, lost: 1},                       // 21 is lost
		{at: OriginOffset{3, 25, 22}, change: bad, lost: 1, bad: 1},  // 23 and 24 are markers
		{at: OriginOffset{3, 26, 25}, lost: 1, bad: 1},               // 25 was rejected
		{at: OriginOffset{3, 30, 28}, change: late, lost: 3, bad: 2}, // 27 and 28 are lost, 29 is a marker
		{at: OriginOffset{3, 31, 30}, lost: 3, bad: 2},               // 30 was rejected
		{at: OriginOffset{3, 25, 22}, change: bad, lost: 3, bad: 2, duplicates: 1},
		{at: OriginOffset{3, 30, 28}, change: late, lost: 3, bad: 2, duplicates: 2},
		{at: OriginOffset{3, 31, 30}, lost: 3, bad: 2, duplicates: 3},
		{at: OriginOffset{4, 9, 8}, change: bad, lost: 3, bad: 3, duplicates: 3}, // the first of another partition
		{at: OriginOffset{4, 11, 9}, lost: 3, bad: 3, duplicates: 3},
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
					Value: marshal(t, e), Offset: int64(from + i), TimeMs: epochMs, Headers: []stream.Header{{Key: OriginHeader, Value: AppendOrigin(nil, x.at)}},
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

// FuzzParseOrigin: what ParseOrigin accepts is possible, and is what AppendOrigin has written.
func FuzzParseOrigin(f *testing.F) {
	f.Add(AppendOrigin(nil, OriginOffset{3, 9, 5}))
	f.Add(AppendOrigin(nil, OriginOffset{0, 0, -1}))
	f.Add(AppendOrigin(nil, OriginOffset{1, 7, 6})[:12])
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, value []byte) {
		o, ok := ParseOrigin(value)
		if !ok {
			return
		}
		if again := AppendOrigin(nil, o); string(again[:len(value)]) != string(value) {
			t.Errorf("%x is read as %x", value, again)
		}
		if o.Partition < 0 || o.Previous < -1 || o.Previous >= o.Offset || o.Offset+1 <= 0 {
			t.Errorf("%+v is impossible", o)
		}
	})
}

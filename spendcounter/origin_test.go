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

// copiedFrom folds records as copies from otherDC, with the places from an offset on.
func copiedFrom(t *testing.T, c *Counter, s *store, topic string, offset int64, values ...[]byte) {
	t.Helper()
	b := &stream.Batch{Topic: topic, Partition: 3, NowMs: epochMs}
	for i, value := range values {
		at := events.Origin{Partition: 3, Offset: offset + int64(i), Previous: offset + int64(i) - 1}
		if topic == events.CopiedAdjustmentsTopic(otherDC) {
			at.Topic[0] = 1
		}
		b.Records = append(b.Records, stream.Record{
			Value: value, Offset: s.next[topic] + int64(i), TimeMs: epochMs, Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, at)}},
		})
	}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	s.next[topic] += int64(len(values))
}

// TestCopiedAdjustments: an adjustment of another datacentre is applied once, whether its copy
// arrives again or the same reference was created here, too.
func TestCopiedAdjustments(t *testing.T) {
	topic, s := events.CopiedAdjustmentsTopic(otherDC), newStore()
	c := mustNew(t, testConfig(), s)
	refundOf(t, c, s, epochMs, func(*eventspb.Adjustment) {})
	r2 := goodAdjustment()
	r2.ReferenceId = "r2"
	copiedFrom(t, c, s, topic, 0, marshal(t, goodAdjustment()), marshal(t, r2))
	s.flush(t, c, epochMs)
	c = mustNew(t, testConfig(), s)
	copiedFrom(t, c, s, topic, 0, marshal(t, goodAdjustment()), marshal(t, r2)) // again
	s.flush(t, c, epochMs)
	state := s.taskState(t)
	o := origins(state.Origins).of(otherDC)
	if state.RefundedMicros != 10 || state.Refunds != 2 || state.Duplicates != 1 || o.TransportDuplicates != 2 || o.Lost != 0 || len(o.Applied) != 0 || len(o.AppliedAdjustments) != 1 {
		t.Errorf("task record %v", state)
	}
}

// TestOriginReturns: a datacentre is removed from the configuration and added again. The copies of
// its records are read from the start of the topic, and none of them is counted again.
func TestOriginReturns(t *testing.T) {
	s, with, without := newStore(), testConfig(), testConfig()
	without.Inputs.Copied, without.Inputs.CopiedAdjustments = nil, nil
	feedAll := func(c *Counter) {
		copiedFrom(t, c, s, events.CopiedEventsTopic(otherDC), 0, marshal(t, eventAt(1, epochMs)), marshal(t, eventAt(2, epochMs-3_600_000)))
		copiedFrom(t, c, s, events.CopiedAdjustmentsTopic(otherDC), 0, marshal(t, goodAdjustment()))
		s.flush(t, c, epochMs)
	}
	feedAll(mustNew(t, with, s))
	before := s.taskState(t)
	c := mustNew(t, without, s)
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(3, epochMs))
	s.flush(t, c, epochMs)
	clear(s.next) // the runtime keeps no position of a topic that is not an input
	s.localNext = nil
	feedAll(mustNew(t, with, s))
	was, is := origins(before.Origins).of(otherDC), origins(s.taskState(t).Origins).of(otherDC)
	if is.Count != was.Count || is.Micros != was.Micros || is.TransportDuplicates != 3 || is.Lost != 0 {
		t.Errorf("before %v, after %v", was, is)
	}
}

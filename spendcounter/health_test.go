package spendcounter

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// feed folds one record with the record time ms at wall time now.
func feed(t *testing.T, c *Counter, s *store, topic string, ms, now int64, e *eventspb.AdEvent) {
	t.Helper()
	b := &stream.Batch{Topic: topic, Partition: 3, NowMs: now, Records: []stream.Record{{
		Value:  marshal(t, e),
		Offset: s.next[topic], TimeMs: ms, Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: s.next[topic], Previous: s.next[topic] - 1})}},
	}}}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	s.next[topic]++
}

func eventAt(i int, ingest int64) *eventspb.AdEvent {
	e := goodEvent()
	e.EventId, e.EventMs, e.IngestMs = fmt.Sprint("e", i), ingest, ingest
	return e
}

func beatAt(ingest int64) *eventspb.AdEvent {
	return &eventspb.AdEvent{Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT, IngestMs: ingest}
}

func TestHealthOncePerSecond(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	for ms := int64(0); ms < 10_000; ms += 100 {
		s.flush(t, c, epochMs+ms)
	}
	if len(s.healths) != 10 {
		t.Fatalf("%d health rows in 10 s of idle flushes", len(s.healths))
	}
	if len(s.tables[TableSpend])+len(s.tables[TableTask])+len(s.tables[TableRings])+len(s.tables[TableIDs]) > 0 {
		t.Fatalf("an idle task writes state: %v", s.tables)
	}
	if rows := s.tables[TableHealth]; len(rows) != 1 || rows[ownDC+"/3"] == nil {
		t.Errorf("health rows %q", rows)
	}
	s.flush(t, c, epochMs-3_600_000) // the wall clock was set back
	if len(s.healths) != 11 {
		t.Error("a clock that was set back stops the health rows")
	}
}

// TestHealthFigures checks both sums and the vector with traffic, heartbeats and silence.
func TestHealthFigures(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	own, copied := events.EventsTopic, events.CopiedEventsTopic(otherDC)
	const lag = 5_000 // age of the records that arrive
	now := epochMs
	for i := range 30 {
		feed(t, c, s, own, now-lag, now, eventAt(i, now-lag))
		now += 1000
	}
	feed(t, c, s, copied, now-lag, now, eventAt(100, now-lag-20_000))
	s.flush(t, c, now)
	h := s.health(t)
	if h.ApproxCount != 31 || h.IngestCount != 31 || h.TimestampMs != now-lag-1000 || h.WrittenAtMs != now || h.WriterDc != ownDC ||
		h.Shard != 3 || h.OwnerEpoch != 7 || h.Sequence != 1 {
		t.Fatalf("after 31 events: %v", h)
	}
	a, b := h.Origins[0], h.Origins[1]
	if a.Dc != ownDC || a.Count_60S != 30 || a.CumulativeCount != 30 || a.CumulativeMicros != 150 || a.OffsetSum != 30 ||
		a.WatermarkMs != now-lag-1000 || b.Dc != otherDC || b.Count_60S != 1 || b.WatermarkMs != now-lag-20_000 || b.OffsetSum != 1 {
		t.Fatalf("origins %v", h.Origins)
	}
	// 45 s of heartbeats: the older events leave both windows, and nothing is counted. The
	// heartbeats do not end the window of the other origin, which has been without input for 45 s.
	for range 45 {
		feed(t, c, s, own, now-lag, now, beatAt(now-lag))
		now += 1000
	}
	s.flush(t, c, now)
	if h = s.health(t); h.ApproxCount != 15 || h.Origins[0].Count_60S != 15 || h.Origins[1].Count_60S != 1 || h.IngestCount != 16 || h.Origins[0].CumulativeCount != 30 || h.TimestampMs != now-lag-1000 {
		t.Fatalf("after 45 s of heartbeats: %v", h)
	}
	// Silence: both windows become empty without input.
	for range 63 {
		now += 1000
		s.flush(t, c, now)
	}
	if h = s.health(t); h.ApproxCount != 0 || h.IngestCount != 0 || h.Origins[0].CumulativeCount != 30 {
		t.Fatalf("after a minute of silence: %v", h)
	}
	// The stream continues where it stopped: the events in the window of its own time count again.
	before := h.TimestampMs
	feed(t, c, s, own, before+1, now, eventAt(200, before+1))
	now += 1000
	s.flush(t, c, now)
	if h = s.health(t); h.ApproxCount != 1 || h.IngestCount != 16 {
		t.Fatalf("after the stream continued: %v", h)
	}
}

// TestClockOfAnotherOrigin: the clock of one origin is an hour ahead or behind. The window of the
// other origins is that of their own clock, in each order of the inputs. So a dataset that loses
// events of an origin has fewer of them than one that does not.
func TestClockOfAnotherOrigin(t *testing.T) {
	for _, skew := range []int64{-3_600_000, 3_600_000} {
		for _, every := range []int{1, 2} { // every second event of the own origin is missing
			s := newStore()
			c := mustNew(t, testConfig(), s)
			now := epochMs
			for i := range 90 {
				feed(t, c, s, events.CopiedEventsTopic(otherDC), now+skew, now, beatAt(now+skew))
				if e := eventAt(i, now); i%every == 0 {
					feed(t, c, s, events.EventsTopic, now, now, e)
				} else {
					feed(t, c, s, events.EventsTopic, now, now, beatAt(now))
				}
				now += 1000
			}
			s.flush(t, c, now)
			want := uint64(60 / every)
			if h := s.health(t); h.Origins[0].Count_60S != want || h.IngestCount != want {
				t.Errorf("a clock off by %d ms, each event number %d: %v", skew, every, h)
			}
		}
	}
}

// TestTimestampIsClampedAndMonotone: one fast clock does not advance the task's timestamp far.
func TestTimestampIsClampedAndMonotone(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(1, epochMs+240_000))
	if c.timestampMs != epochMs+MaxTimestampMs {
		t.Errorf("timestamp %d ms after the record's", c.timestampMs-epochMs)
	}
	feed(t, c, s, events.EventsTopic, epochMs-10_000, epochMs, eventAt(2, epochMs-10_000))
	if c.timestampMs != epochMs+MaxTimestampMs {
		t.Errorf("timestamp went back to %d", c.timestampMs-epochMs)
	}
	if got := c.Stats().MissedRing; got != 0 {
		t.Errorf("%d late", got)
	}
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(3, epochMs-90_000))
	if got := c.Stats().MissedRing; got != 1 {
		t.Errorf("%d late after an event of 90 s ago", got)
	}
}

// TestRestartIsNotADip: with local tables both sums survive a restart; without them the one by
// ingest time does.
func TestRestartIsNotADip(t *testing.T) {
	s := newStore()
	cfg := testConfig()
	cfg.Inputs.Copied = nil // an origin that has sent nothing would hold all ids
	c := mustNew(t, cfg, s)
	var log []stream.Record
	now := epochMs
	for i := range 600 {
		e := eventAt(i, now)
		log = append(log, stream.Record{Value: marshal(t, e), Offset: int64(i), TimeMs: now})
		feed(t, c, s, events.EventsTopic, now, now, e)
		now += 500
		s.flush(t, c, now)
	}
	now += 500
	s.flush(t, c, now)
	want := s.health(t)
	if want.ApproxCount != 118 || want.IngestCount != 120 {
		t.Fatalf("before: %v", want)
	}
	for _, locals := range []map[string]int64{s.localNext, nil} {
		s.localNext = locals
		c = mustNew(t, cfg, s)
		from := c.RebuildFrom()[events.EventsTopic]
		if locals != nil && from < 595 || locals == nil && from == 0 {
			t.Errorf("with locals %v: reads again from %d", locals != nil, from)
		}
		if err := c.Rebuild(&stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: log[from:]}); err != nil {
			t.Fatal(err)
		}
		s.flush(t, c, now)
		got := s.health(t)
		if got.IngestCount != want.IngestCount || locals != nil && got.ApproxCount < want.ApproxCount-2 || got.TimestampMs != want.TimestampMs {
			t.Errorf("with locals %v: %v, before %v", locals != nil, got, want)
		}
	}
}

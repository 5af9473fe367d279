package spendcounter

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestDuplicateWindow repeats one event at growing distances. Inside the window it is always a
// duplicate. Later it is late: charged and counted, or rejected.
func TestDuplicateWindow(t *testing.T) {
	const window = 600_000
	for _, reject := range []bool{false, true} {
		for _, distance := range []int64{0, 1, 1000, window / 2, window - 1, window, window + 1, 2 * window, 10 * window} {
			for _, phase := range []int64{0, 1, window / 2, window - 1} {
				s := newStore()
				c := mustNew(t, Config{RejectLate: reject}, s)
				i := 0
				tick := func(ms int64) { // other events advance the clock
					i++
					feed(t, c, s, events.EventsTopic, ms, ms, eventAt(i, ms))
				}
				tick(epochMs)
				at := epochMs + phase
				e := eventAt(-1, at)
				feed(t, c, s, events.EventsTopic, at, at, e)
				for ms := at; ms < at+distance; ms += 30_000 {
					tick(ms)
					s.flush(t, c, ms)
				}
				e.IngestMs = at + distance
				before := c.micros
				b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: at, Records: []stream.Record{{
					Value: marshal(t, e), Offset: s.next[events.EventsTopic], TimeMs: at + distance,
				}}}
				if err := c.Fold(b); err != nil {
					t.Fatal(err)
				}
				late := distance > window
				if got := c.duplicates == 1; got == late {
					t.Errorf("again after %d ms (phase %d): duplicate %v", distance, phase, got)
				}
				if got := c.micros-before == e.PriceMicros; got != (late && !reject) {
					t.Errorf("again after %d ms (phase %d): charged %v", distance, phase, got)
				}
				if got := c.Stats().Late == 1; got != (late && !reject) {
					t.Errorf("again after %d ms (phase %d): counted as late %v", distance, phase, got)
				}
				if got := len(b.Rejects) == 1 && b.Rejects[0].Reason == ReasonLate; got != (late && reject) {
					t.Errorf("again after %d ms (phase %d): %v", distance, phase, b.Rejects)
				}
			}
		}
	}
}

// TestOutOfOrder: an event is late if its ingest time is too far behind that of its own origin.
// What other origins sent does not matter.
func TestOutOfOrder(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	own, copied := events.EventsTopic, events.CopiedEventsTopic(otherDC)
	feed(t, c, s, own, epochMs+60_000, epochMs, eventAt(1, epochMs+60_000))
	feed(t, c, s, copied, epochMs, epochMs, eventAt(2, epochMs))
	feed(t, c, s, own, epochMs+60_000, epochMs, eventAt(3, epochMs+50_000))
	if n := c.Stats().Late; n != 0 {
		t.Fatalf("%d late, want none", n)
	}
	feed(t, c, s, own, epochMs+60_000, epochMs, eventAt(4, epochMs+49_999))
	feed(t, c, s, own, epochMs+60_000, epochMs, eventAt(4, epochMs+49_999))
	if n := c.Stats().Late; n != 2 || c.duplicates != 0 || c.micros != 25 {
		t.Fatalf("%d late, %d duplicates, %d micros", n, c.duplicates, c.micros)
	}
}

// TestEarly: an event more than an hour ahead of its ingest time is rejected.
func TestEarly(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	e := eventAt(1, epochMs)
	e.EventMs += MaxEarlyMs
	feed(t, c, s, events.EventsTopic, e.EventMs, epochMs, e)
	e.EventMs++
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{Value: marshal(t, e), Offset: 1, TimeMs: e.EventMs}}}
	if err := c.Fold(b); err != nil || len(b.Rejects) != 1 || b.Rejects[0].Reason != ReasonFuture {
		t.Fatal(err, b.Rejects)
	}
}

// TestConflicts: of two copies with different prices the first is charged, and the conflict is
// counted, also across a restart.
func TestConflicts(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	e := eventAt(1, epochMs)
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	s.flush(t, c, epochMs)
	c = mustNew(t, testConfig(), s)
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	if n := c.Stats().Conflicts; n != 0 {
		t.Fatalf("%d conflicts of equal copies", n)
	}
	for e.PriceMicros = 100; e.PriceMicros < 260; e.PriceMicros++ {
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	}
	if n := c.Stats().Conflicts; n < 120 || n > 160 || c.micros != 5 || c.duplicates != 161 {
		t.Fatalf("%d conflicts of 160 copies with other prices, %d micros, %d duplicates", n, c.micros, c.duplicates)
	}
}

// TestAwayOrigin: while an origin is away, the ids stay and memory is bounded. When its records
// arrive, events that were already counted are duplicates, and then the ids are dropped.
func TestAwayOrigin(t *testing.T) {
	s := newStore()
	cfg := testConfig()
	delete(cfg.Inputs.Copied, events.CopiedEventsTopic(thirdDC))
	cfg.MaxIDs = 400
	c := mustNew(t, cfg, s)
	own, copied := events.EventsTopic, events.CopiedEventsTopic(otherDC)
	const seconds = 5000
	for i := range seconds {
		ms := epochMs + int64(i)*1000
		feed(t, c, s, own, ms, ms, eventAt(i, ms))
		if i%10 == 0 {
			s.flush(t, c, ms)
			if n := c.Stats().IDs; n > cfg.MaxIDs {
				t.Fatalf("%d ids in memory after %d s", n, i)
			}
		}
	}
	held := c.Stats().Buckets
	if held < 200 {
		t.Fatalf("%d buckets are held for an origin that is away", held)
	}
	s.flush(t, c, epochMs)
	c = mustNew(t, cfg, s)
	for i := range seconds {
		ms := epochMs + int64(i)*1000
		feed(t, c, s, copied, ms+seconds*1000, ms, eventAt(i, ms))
		if i%10 == 0 {
			s.flush(t, c, ms)
			if n := c.Stats().IDs; n > cfg.MaxIDs {
				t.Fatalf("%d ids in memory after %d s of copies", n, i)
			}
		}
	}
	s.flush(t, c, epochMs)
	if got := c.Stats(); got.Duplicates != seconds || got.Late != 0 || got.EarlyDrops != 0 || got.Buckets > 10 || len(s.tables[TableBuckets]) != got.Buckets {
		t.Errorf("%+v, %d buckets in the table", got, len(s.tables[TableBuckets]))
	}
	for key := range s.tables[TableIDs] {
		if from := int64(binary.BigEndian.Uint64([]byte(key))); c.window.covering(from) == nil {
			t.Fatalf("ids of a dropped bucket are left: %d", from)
		}
	}
}

// TestMaxIDs: a bucket with too many ids begins again, which is counted and shown.
func TestMaxIDs(t *testing.T) {
	s := newStore()
	c := mustNew(t, Config{MaxIDs: 200}, s)
	for i := range 500 {
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(i, epochMs))
		if n := c.Stats().IDs; n > 100 {
			t.Fatalf("%d ids after %d events", n, i+1)
		}
	}
	if got := c.Stats(); got.EarlyDrops != 4 || got.IDs != 100 {
		t.Errorf("%+v", got)
	}
	for i := 400; i < 500; i++ { // a full bucket knows its duplicates
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(i, epochMs))
		if c.duplicates == 0 {
			break // the first of them made the bucket begin again
		}
	}
	if got := c.Stats(); got.EarlyDrops != 5 {
		t.Errorf("%+v", got)
	}
}

// TestWindowChanges: another window applies at once. Ids that are remembered stay.
func TestWindowChanges(t *testing.T) {
	for _, to := range []time.Duration{time.Second, time.Minute, 10 * time.Minute, 24 * time.Hour} {
		s := newStore()
		c := mustNew(t, Config{}, s)
		var recs []stream.Record
		for i := range 40 {
			ms := epochMs + int64(i)*10_000
			recs = append(recs, stream.Record{Value: marshal(t, eventAt(i, ms)), Offset: int64(i), TimeMs: ms})
			feed(t, c, s, events.EventsTopic, ms, ms, eventAt(i, ms))
		}
		s.flush(t, c, epochMs)
		for _, local := range []bool{true, false} {
			if !local {
				s.localNext = nil
			}
			c = mustNew(t, Config{DuplicateWindow: to, OutOfOrderness: time.Hour}, s)
			from := c.RebuildFrom()[events.EventsTopic]
			if err := c.Rebuild(&stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: recs[from:40]}); err != nil {
				t.Fatal(err)
			}
			for i := range 40 {
				feed(t, c, s, events.EventsTopic, epochMs+390_000, epochMs, eventAt(i, epochMs+int64(i)*10_000))
			}
			if got := c.Stats(); got.Duplicates != 40 || got.Late != 0 {
				t.Errorf("to %v, local tables %v: %+v", to, local, got)
			}
			feed(t, c, s, events.EventsTopic, epochMs+5_000_000, epochMs, eventAt(100, epochMs+5_000_000)) // buckets of the new width
			if err := disjoint(c.window.buckets); err != nil {
				t.Error(err)
			}
		}
	}
}

func disjoint(list []*bucket) error {
	end := int64(0)
	for _, b := range list {
		if b.from < end || b.to <= b.from {
			return fmt.Errorf("bucket %d to %d begins before %d", b.from, b.to, end)
		}
		end = b.to
	}
	return nil
}

// TestIDsOfAccountsAndAdjustmentsAreApart: equal ids of two accounts are two ids, and so are an
// event id and a reference id.
func TestIDsOfAccountsAndAdjustmentsAreApart(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	e := goodEvent()
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	e.Account = "a2"
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	a := goodAdjustment()
	a.ReferenceId = e.EventId
	b := &stream.Batch{Topic: events.AdjustmentsTopic, Partition: 3, Records: []stream.Record{
		{Value: marshal(t, a), TimeMs: epochMs},
		{Value: marshal(t, a), Offset: 1, TimeMs: epochMs},
	}}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	if c.duplicates != 1 || c.refundedMicros != 5 || c.micros != 10 {
		t.Errorf("%d duplicates, %d refunded, %d charged", c.duplicates, c.refundedMicros, c.micros)
	}
	s.flush(t, c, epochMs)
	p := s.spends(t)[string(AppendKey(nil, []byte("a1"), []byte("c1"), 20231115, usd))]
	if p.Duplicates != 1 || p.ByDc[0].RefundedMicros != 5 || p.ByDc[0].ChargedMicros != 5 {
		t.Errorf("spend %v", p)
	}
}

// TestOldIDsLeaveTheLocalTable: the table has the ids of the buckets, in values of bounded size.
func TestOldIDsLeaveTheLocalTable(t *testing.T) {
	s := newStore()
	c := mustNew(t, Config{MaxIDs: 800_000}, s)
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
	for i := range 300_000 {
		e := &eventspb.AdEvent{EventId: fmt.Sprint(i), Type: 1, Account: "a", Campaign: "c", Currency: "USD", BudgetDay: 20231115}
		b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: int64(i), TimeMs: epochMs})
	}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, len(b.Rejects))
	}
	s.next[b.Topic] = 300_000
	s.flush(t, c, epochMs)
	total := 0
	for _, v := range s.tables[TableIDs] {
		if len(v) > 32<<10 { // a damaged byte in a large block of the store costs minutes
			t.Errorf("a value of %d bytes", len(v))
		}
		total += len(v) / 8
	}
	if total != 300_000 || len(s.tables[TableIDs]) != 74 {
		t.Errorf("%d ids in %d values", total, len(s.tables[TableIDs]))
	}
	for i := 1; i <= 5; i++ {
		ms := epochMs + int64(i)*300_000
		feed(t, c, s, events.EventsTopic, ms, ms, eventAt(i, ms))
		s.flush(t, c, ms)
	}
	if n, rows := len(s.tables[TableIDs]), len(s.tables[TableBuckets]); n != 3 || rows != 3 {
		t.Errorf("%d values and %d buckets after 25 minutes, want those of the last three events", n, rows)
	}
}

// TestLargeBatches: batches of any size, also above a chunk, give the same result.
func TestLargeBatches(t *testing.T) {
	cfg := testConfig()
	cfg.MaxIDs = 60
	l := &topicLog{topic: events.CopiedEventsTopic(otherDC), dc: otherDC, copied: true}
	x := uint64(7)
	rnd := func(n uint64) int { x = x*6364136223846793005 + 1442695040888963407; return int(x >> 33 % n) }
	now, origin := epochMs, int64(0)
	for i := range 4000 {
		now += int64(rnd(120))
		origin += int64(rnd(20) / 6)
		e := eventAt(rnd(900), now)
		e.Campaign, e.ServingDc = fmt.Sprint("c", rnd(300)), fmt.Sprint("dc", rnd(4))
		e.Type = eventspb.EventType(1 + rnd(5))
		if rnd(10) == 0 {
			e = beatAt(now)
		}
		l.recs = append(l.recs, stream.Record{
			Value: marshal(t, e), Offset: int64(i), TimeMs: now,
			Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: origin, Previous: origin - 1})}},
		})
	}
	m := newRecount(cfg)
	for i := range l.recs {
		m.event(l, &l.recs[i])
	}
	for _, size := range []int{1, 7, 511, 512, 513, 1024, 4000} {
		s := newStore()
		c := mustNew(t, cfg, s)
		for from := 0; from < len(l.recs); from += size {
			b := &stream.Batch{Topic: l.topic, Partition: 3, Records: l.recs[from:min(from+size, len(l.recs))], NowMs: now}
			if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
				t.Fatal(err, b.Rejects)
			}
		}
		s.next[l.topic] = 4000
		s.flush(t, c, now)
		for key, p := range s.spends(t) {
			if g, w := describe(p), m.spend[key].describe(); g != w {
				t.Fatalf("batches of %d: %q is\n%s\nwant\n%s", size, key, g, w)
			}
		}
		st := s.taskState(t)
		if o := st.Origins[1]; o.Lost != m.lost[otherDC] || o.TransportDuplicates != m.transportDuplicates[otherDC] ||
			st.Duplicates != m.duplicates || st.EarlyDrops != m.early || o.Lost == 0 || st.Duplicates == 0 || st.EarlyDrops == 0 {
			t.Fatalf("batches of %d: %v; want %d lost, %d again, %d duplicates, %d early", size, o, m.lost[otherDC],
				m.transportDuplicates[otherDC], m.duplicates, m.early)
		}
	}
}

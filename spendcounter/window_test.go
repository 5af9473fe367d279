package spendcounter

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestDuplicateWindow repeats one event at growing distances. Inside the window it is always a
// duplicate, beyond twice the window never.
func TestDuplicateWindow(t *testing.T) {
	const window = 600_000
	for _, distance := range []int64{0, 1, 1000, window / 2, window - 1, 2*window + 60_000, 10 * window} {
		for _, phase := range []int64{0, 1, window / 2, window - 1} {
			s := newStore()
			c := mustNew(t, Config{}, s)
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
			}
			e.IngestMs = at + distance
			feed(t, c, s, events.EventsTopic, at+distance, at+distance, e)
			if got := c.duplicates == 1; got != (distance < window) {
				t.Errorf("again after %v (phase %v): duplicate %v", time.Duration(distance)*time.Millisecond,
					time.Duration(phase)*time.Millisecond, got)
			}
		}
	}
}

// TestMaxIDs: at the bound of ids the window becomes shorter, which is counted and shown.
func TestMaxIDs(t *testing.T) {
	s := newStore()
	c := mustNew(t, Config{MaxIDs: 100}, s)
	for i := range 500 {
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(i, epochMs))
		if n := c.Stats().IDs; n > 100 {
			t.Fatalf("%d ids after %d events", n, i+1)
		}
	}
	if got := c.Stats(); got.EarlyRotations != 9 || got.IDs != 100 {
		t.Errorf("%+v", got)
	}
	for i := 450; i < 500; i++ { // half of the bound is always remembered
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, eventAt(i, epochMs))
	}
	if c.duplicates != 50 {
		t.Errorf("%d duplicates of 50", c.duplicates)
	}
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
	p := s.spends(t)[string(AppendKey(nil, []byte("c1"), []byte("a1"), 20231115, usd))]
	if p.Duplicates != 1 || p.ByDc[0].RefundedMicros != 5 || p.ByDc[0].ChargedMicros != 5 {
		t.Errorf("spend %v", p)
	}
}

// TestOldIDsLeaveTheLocalTable: the table has two generations, in values of bounded size.
func TestOldIDsLeaveTheLocalTable(t *testing.T) {
	s := newStore()
	c := mustNew(t, Config{MaxIDs: 400_000}, s)
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
	for i := range 300_000 {
		e := &eventspb.AdEvent{EventId: fmt.Sprint(i), Type: 1, Account: "a", Campaign: "c", Currency: "USD", BudgetDay: 20231115}
		b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: int64(i), TimeMs: epochMs})
	}
	c.cfg.Shard = anyShard
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, len(b.Rejects))
	}
	s.next[b.Topic] = 300_000
	s.flush(t, c, epochMs)
	total := 0
	for _, v := range s.tables[TableIDs] {
		if len(v) > 1<<20 {
			t.Errorf("a value of %d bytes", len(v))
		}
		total += len(v) / 8
	}
	if total != 300_000 || len(s.tables[TableIDs]) != 3 {
		t.Errorf("%d ids in %d values", total, len(s.tables[TableIDs]))
	}
	for i := 1; i <= 3; i++ {
		ms := epochMs + int64(i)*600_000
		feed(t, c, s, events.EventsTopic, ms, ms, eventAt(i, ms))
		s.flush(t, c, ms)
	}
	if n := len(s.tables[TableIDs]); n != 2 {
		t.Errorf("%d values after three rotations, want one of each generation", n)
	}
}

// TestLargeBatches: batches of any size, also above a chunk, give the same result.
func TestLargeBatches(t *testing.T) {
	cfg := testConfig()
	cfg.MaxIDs = 700
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
			Headers: []stream.Header{{Key: OriginHeader, Value: AppendOrigin(nil, 3, origin)}},
		})
	}
	m := newRecount(cfg)
	for i := range l.recs {
		m.event(l.dc, l.copied, &l.recs[i])
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
			st.Duplicates != m.duplicates || st.EarlyRotations != m.early || o.Lost == 0 || st.Duplicates == 0 || st.EarlyRotations == 0 {
			t.Fatalf("batches of %d: %v; want %d lost, %d again, %d duplicates, %d early", size, o, m.lost[otherDC],
				m.transportDuplicates[otherDC], m.duplicates, m.early)
		}
	}
}

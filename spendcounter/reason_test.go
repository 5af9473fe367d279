package spendcounter

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

func goodEvent() *eventspb.AdEvent {
	return &eventspb.AdEvent{
		EventId: "e1", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, Account: "a1", Campaign: "c1",
		PriceMicros: 5, Currency: "USD", BudgetDay: 20231115, EventMs: epochMs, IngestMs: epochMs,
	}
}

func goodAdjustment() *eventspb.Adjustment {
	return &eventspb.Adjustment{
		ReferenceId: "r1", Account: "a1", Campaign: "c1", Micros: 5, Currency: "USD",
		BudgetDay: 20231115, IngestMs: epochMs, ServingDc: ownDC,
	}
}

// reject is one bad record.
type reject struct {
	name, reason string
	copied       bool
	event        func(e *eventspb.AdEvent)
	adjustment   func(a *eventspb.Adjustment)
	record       func(r *stream.Record)
}

func rejects() []reject {
	long := strings.Repeat("x", MaxIDBytes+1)
	ev := func(name, reason string, f func(e *eventspb.AdEvent)) reject {
		return reject{name: name, reason: reason, event: f}
	}
	adj := func(name, reason string, f func(a *eventspb.Adjustment)) reject {
		return reject{name: name, reason: reason, adjustment: f}
	}
	origin := func(name string, f func(r *stream.Record)) reject {
		return reject{name: name, reason: ReasonBadOrigin, copied: true, record: f}
	}
	return []reject{
		{name: "garbage", reason: ReasonUndecodable, record: func(r *stream.Record) { r.Value = []byte{0xff, 0xff} }},
		{name: "not UTF-8", reason: ReasonUndecodable, record: func(r *stream.Record) { r.Value = append(r.Value, 0x22, 1, 0xff) }},
		{name: "no value", reason: ReasonUnknownType, record: func(r *stream.Record) { r.Value = nil }},
		{name: "large", reason: ReasonOversized, record: func(r *stream.Record) { r.Value = make([]byte, MaxValueBytes+1) }},
		ev("type 0", ReasonUnknownType, func(e *eventspb.AdEvent) { e.Type = 0 }),
		ev("type 7", ReasonUnknownType, func(e *eventspb.AdEvent) { e.Type = 7 }),
		ev("type -1", ReasonUnknownType, func(e *eventspb.AdEvent) { e.Type = -1 }),
		ev("type 257", ReasonUnknownType, func(e *eventspb.AdEvent) { e.Type = 257 }),
		ev("price", ReasonNegativePrice, func(e *eventspb.AdEvent) { e.PriceMicros = -1 }),
		ev("price above the bound", ReasonOverflow, func(e *eventspb.AdEvent) { e.PriceMicros = 1 << 50 }),
		ev("no currency", ReasonUnknownCurrency, func(e *eventspb.AdEvent) { e.Currency = "" }),
		ev("currency in lower case", ReasonUnknownCurrency, func(e *eventspb.AdEvent) { e.Currency = "usd" }),
		ev("no such currency", ReasonUnknownCurrency, func(e *eventspb.AdEvent) { e.Currency = "QQQ" }),
		ev("account", ReasonNoAccount, func(e *eventspb.AdEvent) { e.Account = "" }),
		ev("campaign", ReasonNoCampaign, func(e *eventspb.AdEvent) { e.Campaign = "" }),
		ev("NUL in account", ReasonBadID, func(e *eventspb.AdEvent) { e.Account = "a\x00b" }),
		ev("NUL in campaign", ReasonBadID, func(e *eventspb.AdEvent) { e.Campaign = "\x00" }),
		ev("NUL in event id", ReasonBadID, func(e *eventspb.AdEvent) { e.EventId = "e\x00" }),
		ev("NUL in serving dc", ReasonBadID, func(e *eventspb.AdEvent) { e.ServingDc = "\x00e" }),
		ev("long account", ReasonBadID, func(e *eventspb.AdEvent) { e.Account = long }),
		ev("long campaign", ReasonBadID, func(e *eventspb.AdEvent) { e.Campaign = long }),
		ev("long event id", ReasonBadID, func(e *eventspb.AdEvent) { e.EventId = long }),
		ev("long serving dc", ReasonBadID, func(e *eventspb.AdEvent) { e.ServingDc = long }),
		ev("event id", ReasonNoEventID, func(e *eventspb.AdEvent) { e.EventId = "" }),
		ev("30 February", ReasonBadDay, func(e *eventspb.AdEvent) { e.BudgetDay = 20240230 }),
		ev("negative day", ReasonBadDay, func(e *eventspb.AdEvent) { e.BudgetDay = -20240101 }),
		ev("neither day nor time", ReasonBadDay, func(e *eventspb.AdEvent) { e.BudgetDay, e.EventMs = 0, 0 }),
		ev("before 1970", ReasonBadDay, func(e *eventspb.AdEvent) { e.BudgetDay, e.EventMs = 0, -1 }),
		ev("event in the future", ReasonFuture, func(e *eventspb.AdEvent) { e.EventMs = epochMs + MaxAheadMs + 1 }),
		ev("ingest in the future", ReasonFuture, func(e *eventspb.AdEvent) { e.IngestMs = epochMs + MaxAheadMs + 1 }),
		ev("heartbeat in the future", ReasonFuture, func(e *eventspb.AdEvent) {
			proto.Reset(e)
			e.Type, e.IngestMs = eventspb.EventType_EVENT_TYPE_HEARTBEAT, math.MaxInt64
		}),
		ev("another shard's", ReasonWrongPartition, func(e *eventspb.AdEvent) { e.Account = "elsewhere" }),
		origin("no header", func(r *stream.Record) { r.Headers = nil }),
		origin("short header", func(r *stream.Record) { r.Headers[0].Value = []byte{1} }),
		origin("negative offset", func(r *stream.Record) {
			r.Headers[0].Value = events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: -1, Previous: -2})
		}),
		origin("last offset of all", func(r *stream.Record) {
			r.Headers[0].Value = events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: math.MaxInt64, Previous: math.MaxInt64 - 1})
		}),
		origin("previous record is the record", func(r *stream.Record) {
			r.Headers[0].Value = events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 5, Previous: 5})
		}),
		origin("previous record before the first", func(r *stream.Record) {
			r.Headers[0].Value = events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 5, Previous: -2})
		}),
		origin("negative partition", func(r *stream.Record) {
			r.Headers[0].Value = events.AppendOrigin(nil, events.Origin{Partition: -3, Offset: 1})
		}),
		origin("two headers", func(r *stream.Record) { r.Headers = append(r.Headers, r.Headers[0]) }),
		adj("reference", ReasonNoReference, func(a *eventspb.Adjustment) { a.ReferenceId = "" }),
		adj("long reference", ReasonBadID, func(a *eventspb.Adjustment) { a.ReferenceId = long }),
		adj("nothing given back", ReasonNonPositiveAmount, func(a *eventspb.Adjustment) { a.Micros = 0 }),
		adj("less than nothing", ReasonNonPositiveAmount, func(a *eventspb.Adjustment) { a.Micros = -5 }),
		adj("day", ReasonNoDay, func(a *eventspb.Adjustment) { a.BudgetDay = 0 }),
		adj("31 April", ReasonBadDay, func(a *eventspb.Adjustment) { a.BudgetDay = 20240431 }),
		adj("currency", ReasonUnknownCurrency, func(a *eventspb.Adjustment) { a.Currency = "?" }),
		adj("account", ReasonNoAccount, func(a *eventspb.Adjustment) { a.Account = "" }),
		adj("campaign", ReasonNoCampaign, func(a *eventspb.Adjustment) { a.Campaign = "" }),
		adj("NUL in serving dc", ReasonBadID, func(a *eventspb.Adjustment) { a.ServingDc = "\x00" }),
		adj("no serving dc", ReasonNoServingDC, func(a *eventspb.Adjustment) { a.ServingDc = "" }),
		adj("long reason", ReasonBadID, func(a *eventspb.Adjustment) { a.Reason = long }),
		adj("NUL in reason", ReasonBadID, func(a *eventspb.Adjustment) { a.Reason = "r\x00" }),
		adj("future", ReasonFuture, func(a *eventspb.Adjustment) { a.IngestMs = epochMs + MaxAheadMs + 1 }),
		adj("another shard's", ReasonWrongPartition, func(a *eventspb.Adjustment) { a.Account = "elsewhere" }),
		{
			name: "garbage adjustment", reason: ReasonUndecodable, adjustment: func(*eventspb.Adjustment) {},
			record: func(r *stream.Record) { r.Value = []byte{0xff} },
		},
		{
			name: "large adjustment", reason: ReasonOversized, adjustment: func(*eventspb.Adjustment) {},
			record: func(r *stream.Record) { r.Value = make([]byte, MaxValueBytes+1) },
		},
	}
}

// TestEveryReason: a bad record is rejected for its reason and leaves no trace, and its valid
// neighbours count.
func TestEveryReason(t *testing.T) {
	for _, x := range rejects() {
		t.Run(x.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.MaxPriceMicros = 1 << 40
			cfg.Shard = func(account []byte) int32 {
				if string(account) == "elsewhere" {
					return 5
				}
				return 3
			}
			rec := stream.Record{
				Offset: 10, TimeMs: epochMs,
				Headers: []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 10, Previous: 9})}},
			}
			b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
			if x.copied {
				b.Topic = events.CopiedEventsTopic(otherDC)
			}
			good := rec
			if x.adjustment != nil {
				b.Topic = events.AdjustmentsTopic
				a := goodAdjustment()
				good.Value = marshal(t, a)
				x.adjustment(a)
				rec.Value = marshal(t, a)
			} else {
				e := goodEvent()
				good.Value = marshal(t, e)
				if x.event != nil {
					x.event(e)
				}
				rec.Value = marshal(t, e)
			}
			if x.record != nil {
				x.record(&rec)
			}
			s := newStore()
			c := mustNew(t, cfg, s)
			b.Records = []stream.Record{rec}
			if err := c.Fold(b); err != nil {
				t.Fatal(err)
			}
			if len(b.Rejects) != 1 || b.Rejects[0].Reason != x.reason {
				t.Fatalf("rejects %v, want %s", b.Rejects, x.reason)
			}
			s.flush(t, c, epochMs)
			if n := len(s.tables[TableSpend]) + len(s.tables[TableIDs]); n > 0 || s.taskState(t).TimestampMs != 0 {
				t.Fatalf("the refused record left %d rows and %v", n, s.taskState(t))
			}
			good.Headers = []stream.Header{{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Partition: 3, Offset: 11, Previous: 10})}}
			b.Records, b.Rejects = []stream.Record{rec, good, rec}, nil
			b.Records[1].Offset, b.Records[2].Offset = 11, 12
			if err := c.Fold(b); err != nil {
				t.Fatal(err)
			}
			if len(b.Rejects) != 2 || b.Rejects[0].Index != 0 || b.Rejects[1].Index != 2 {
				t.Fatalf("rejects %v, want records 0 and 2", b.Rejects)
			}
			s.flush(t, c, epochMs)
			if len(s.tables[TableSpend]) != 1 {
				t.Fatalf("%d campaigns, want the good one", len(s.tables[TableSpend]))
			}
		})
	}
}

// TestDetailsShowTheValue: a dead letter shows what was sent, and what to send.
func TestDetailsShowTheValue(t *testing.T) {
	event := func(change func(e *eventspb.AdEvent)) []byte {
		e := goodEvent()
		change(e)
		return marshal(t, e)
	}
	adjustment := func(change func(a *eventspb.Adjustment)) []byte {
		a := goodAdjustment()
		change(a)
		return marshal(t, a)
	}
	for _, x := range []struct {
		topic          string
		value          []byte
		reason, detail string
	}{
		{events.EventsTopic, nil, ReasonUnknownType, "(null)"},
		{events.EventsTopic, []byte{}, ReasonUnknownType, "is empty"},
		{events.AdjustmentsTopic, []byte{}, ReasonNoReference, "is empty"},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.Currency = "usd" }), ReasonUnknownCurrency, `"usd" is not`},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.Currency = "USDT" }), ReasonUnknownCurrency, `"USDT" is not`},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.Currency = "" }), ReasonUnknownCurrency, "no currency"},
		{events.AdjustmentsTopic, adjustment(func(a *eventspb.Adjustment) { a.Currency = "eur" }), ReasonUnknownCurrency, `"eur" is not`},
		{events.AdjustmentsTopic, adjustment(func(a *eventspb.Adjustment) { a.ServingDc = "" }), ReasonNoServingDC, "name the datacentre that served"},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.EventMs = epochMs / 1000 }), ReasonBadDay, "looks like seconds"},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.EventMs, e.BudgetDay = epochMs/1000, 0 }), ReasonBadDay, "looks like seconds"},
		{events.EventsTopic, event(func(e *eventspb.AdEvent) { e.EventMs = 5 }), ReasonBadDay, "before 1990: write"},
	} {
		b := &stream.Batch{Topic: x.topic, Partition: 3, NowMs: epochMs, Records: []stream.Record{{TimeMs: epochMs, Value: x.value}}}
		if err := mustNew(t, testConfig(), newStore()).Fold(b); err != nil {
			t.Fatal(err)
		}
		if len(b.Rejects) != 1 || b.Rejects[0].Reason != x.reason || !strings.Contains(b.Rejects[0].Detail, x.detail) {
			t.Errorf("%v, want %s with %s", b.Rejects, x.reason, x.detail)
		}
	}
}

// TestOverflow: the sum of the shard can reach the maximum of int64 exactly, and not a micro more.
func TestOverflow(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
	for i, price := range []int64{math.MaxInt64 - 1, 2, 1, 1, 0} {
		e := goodEvent()
		e.EventId, e.Campaign, e.PriceMicros = fmt.Sprint("e", i), fmt.Sprint("c", i%2), price
		b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: int64(i), TimeMs: epochMs})
	}
	b.Records = append(b.Records, b.Records[0]) // a duplicate charges nothing, so it cannot overflow
	if err := c.Fold(b); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.Rejects[0].Index, b.Rejects[1].Index, len(b.Rejects)); got != "1 3 2" || b.Rejects[0].Reason != ReasonOverflow {
		t.Fatalf("rejects %v", b.Rejects)
	}
	if c.micros != math.MaxInt64 || c.duplicates != 1 {
		t.Fatalf("%d micros, %d duplicates", c.micros, c.duplicates)
	}
}

// TestServingDatacentresAreBounded: a producer of invalid names cannot grow the records without
// end.
func TestServingDatacentresAreBounded(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
	for i := range MaxServingDCs + 20 {
		e := goodEvent()
		e.EventId, e.ServingDc = fmt.Sprint("e", i), fmt.Sprintf("dc-%03d", (i*5)%(MaxServingDCs+10))
		b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: int64(i), TimeMs: epochMs})
	}
	if err := c.Fold(b); err != nil {
		t.Fatal(err)
	}
	if len(b.Rejects) != 10 || b.Rejects[0].Reason != ReasonBadID {
		t.Fatalf("%d refused, want the 10 with new names: %v", len(b.Rejects), b.Rejects)
	}
	s.next[b.Topic] = int64(len(b.Records))
	s.flush(t, c, epochMs)
	for _, p := range s.spends(t) {
		if len(p.ByDc) != MaxServingDCs {
			t.Fatalf("%d serving datacentres", len(p.ByDc))
		}
	}
	// The bound survives a restart: the same names are known, and no other is accepted.
	c = mustNew(t, testConfig(), s)
	for i := range b.Records {
		b.Records[i].Offset += 1000
	}
	b.Rejects = nil
	if err := c.Fold(b); err != nil || len(b.Rejects) != 10 {
		t.Fatalf("after a restart: error %v, %d refused", err, len(b.Rejects))
	}
}

// TestKnownTypesFit: the columns by type have room for every type of package events.
func TestKnownTypesFit(t *testing.T) {
	for typ := range eventspb.EventType_name {
		known := eventspb.EventType(typ)
		if events.KnownEventType(known) && int(typ) >= numTypes && uint8(typ) != heartbeat {
			t.Errorf("%v has no column", known)
		}
	}
}

package spendcounter

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

const (
	ownDC   = "dc-a"
	otherDC = "dc-b"
	thirdDC = "dc-c"
	epochMs = int64(1_700_000_000_000)
)

// topicLog is a partition of an input topic. bad names the records that must be rejected whatever
// came before.
type topicLog struct {
	topic, dc   string
	copied      bool
	adjustments bool
	recs        []stream.Record
	bad         map[int64]string // by offset
}

// GoString keeps rapid's transcripts short.
func (l *topicLog) GoString() string { return l.topic }

// shape selects the kind of logs to draw.
type shape struct {
	huge     bool // prices near the bound of int64
	disjoint bool // no id in two topics
	steady   bool // no long jumps in time
	bad      bool
}

// drawLogs draws five topics: own events, two copied ones, adjustments, copied ones.
func drawLogs(t *rapid.T, sh shape) []*topicLog {
	logs := []*topicLog{
		{topic: events.EventsTopic, dc: ownDC},
		{topic: events.CopiedEventsTopic(otherDC), dc: otherDC, copied: true},
		{topic: events.CopiedEventsTopic(thirdDC), dc: thirdDC, copied: true},
		{topic: events.AdjustmentsTopic, dc: ownDC, adjustments: true},
		{topic: events.CopiedAdjustmentsTopic(otherDC), dc: otherDC, copied: true, adjustments: true},
	}
	for i, l := range logs {
		l.bad = map[int64]string{}
		g := generator{t: t, sh: sh, now: epochMs + rapid.Int64Range(0, 5000).Draw(t, "start"), topic: i, log: l}
		for range rapid.IntRange(0, 60).Draw(t, "records") {
			g.record()
		}
	}
	return logs
}

type generator struct {
	t            *rapid.T
	sh           shape
	now          int64
	topic        int
	log          *topicLog
	offset       int64
	originOffset int64
	copied       map[int32]int64 // greatest offset, by origin partition
}

func (g *generator) oneOf(label string, n int) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g *generator) record() {
	steps := []int64{0, 0, 0, 1, 7, 250, 1000, 20_000, 61_000}
	if g.sh.steady {
		steps = steps[:6]
	}
	g.now += rapid.SampledFrom(steps).Draw(g.t, "step")
	g.offset += int64(1 + g.oneOf("skipped offsets", 8)/7)
	rec := stream.Record{Offset: g.offset, TimeMs: g.now}
	reason := ""
	if g.log.adjustments {
		a := g.adjustment()
		if g.sh.bad && g.oneOf("bad", 6) == 0 {
			a.Micros, reason = 0, ReasonNonPositiveAmount
			if g.oneOf("bad adjustment", 2) == 0 {
				a.Micros, a.ServingDc, reason = 5, "", ReasonNoServingDC
			}
		}
		rec.Value = must(proto.Marshal(a))
	} else {
		e := g.event()
		if g.sh.bad && g.oneOf("bad", 6) == 0 {
			reason = g.invalidate(e)
		}
		rec.Value = must(proto.Marshal(e))
	}
	if g.log.copied {
		g.origin(&rec)
	}
	if reason != "" {
		g.log.bad[rec.Offset] = reason
	}
	g.log.recs = append(g.log.recs, rec)
}

// origin gives a copied record its offset in the origin: mostly the next one, sometimes with a gap
// or repeated.
func (g *generator) origin(rec *stream.Record) {
	switch g.oneOf("origin", 12) {
	case 0:
		g.originOffset += 3
	case 1:
		g.originOffset = max(0, g.originOffset-2)
	default:
		g.originOffset++
	}
	// There are two partitions: a mirror with another layout must not break the count.
	at := events.Origin{Partition: int32(3 + g.oneOf("origin partition", 10)/9), Offset: g.originOffset, Previous: g.originOffset - 1}
	if g.log.adjustments {
		at.Topic[0] = 1
	}
	if g.copied == nil {
		g.copied = map[int32]int64{}
	}
	last, ok := g.copied[at.Partition]
	if g.oneOf("origin header", 2) == 0 && (!ok || last < at.Offset) { // what is between was never a record
		if at.Previous = last; !ok {
			at.Previous = -1
		}
	}
	g.copied[at.Partition] = max(last, at.Offset)
	rec.Headers = []stream.Header{{Key: "trace", Value: []byte("x")}, {Key: events.OriginHeader, Value: events.AppendOrigin(nil, at)}}
}

func (g *generator) invalidate(e *eventspb.AdEvent) string {
	if e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT {
		e.Type = 99
		return ReasonUnknownType
	}
	switch g.oneOf("spoiled", 4) {
	case 0:
		e.PriceMicros = -1
		return ReasonNegativePrice
	case 1:
		e.EventMs = g.now + 400_000
		return ReasonFuture
	case 2:
		e.Currency = "XXZ"
		return ReasonUnknownCurrency
	}
	e.Account = ""
	return ReasonNoAccount
}

func (g *generator) event() *eventspb.AdEvent {
	lag := rapid.SampledFrom([]int64{0, 0, 1000, 2000, 15_000}).Draw(g.t, "lag")
	e := &eventspb.AdEvent{IngestMs: g.now - lag + int64(g.oneOf("ahead", 4)/3)*3000}
	if g.oneOf("own time", 8) == 0 {
		e.IngestMs = 0
	}
	if g.oneOf("heartbeat", 10) == 0 {
		e.Type = eventspb.EventType_EVENT_TYPE_HEARTBEAT
		return e
	}
	e.Type = rapid.SampledFrom([]eventspb.EventType{1, 1, 1, 1, 2, 2, 3, 4, 5}).Draw(g.t, "type")
	e.EventId = g.id()
	e.Account = fmt.Sprintf("a%d", g.oneOf("account", 2))
	e.Campaign = fmt.Sprintf("c%d", g.oneOf("campaign", 6))
	e.PriceMicros = int64(g.oneOf("price", 3000))
	if g.sh.huge && g.oneOf("huge", 4) == 0 {
		e.PriceMicros = math.MaxInt64/3 - int64(g.oneOf("less", 3))
	}
	e.Currency = rapid.SampledFrom([]string{"USD", "USD", "EUR"}).Draw(g.t, "currency")
	e.EventMs = g.now - rapid.SampledFrom([]int64{0, 0, 50, 30_000, 85_000, 100_000, hourMs, 2 * hourMs, 86_400_000, -200_000}).Draw(g.t, "age")
	if g.oneOf("stamped", 2) == 0 {
		if e.BudgetDay = rapid.SampledFrom([]int32{20231115, 20231115, 20231112, 20231111}).Draw(g.t, "day"); g.oneOf("no event time", 3) == 0 {
			e.EventMs = 0
		}
	}
	e.ServingDc = rapid.SampledFrom([]string{"", "", ownDC, otherDC, "zz"}).Draw(g.t, "serving")
	e.LineItem = rapid.SampledFrom([]string{"", "", "l1", "l2", "line 3"}).Draw(g.t, "line item")
	e.Arm = rapid.SampledFrom([]string{"", "b", "b", strings.Repeat("x", MaxIDBytes+1)}).Draw(g.t, "arm")
	return e
}

func (g *generator) adjustment() *eventspb.Adjustment {
	a := &eventspb.Adjustment{
		ReferenceId: g.id(), Account: fmt.Sprintf("a%d", g.oneOf("account", 2)),
		Campaign: fmt.Sprintf("c%d", g.oneOf("campaign", 6)), Micros: 1 + int64(g.oneOf("amount", 500)), Currency: "USD",
		BudgetDay: rapid.SampledFrom([]int32{20231115, 20231115, 20231112}).Draw(g.t, "day"), IngestMs: g.now, ServingDc: rapid.SampledFrom([]string{ownDC, otherDC, "zz"}).Draw(g.t, "serving"),
		Reason: rapid.SampledFrom([]string{"", "refund", "invalid_traffic"}).Draw(g.t, "reason"),
	}
	if g.oneOf("same campaign day", 2) == 0 { // so that some adjustments are repeated as they were
		a.Campaign, a.Micros, a.ServingDc = "c0", 1, ownDC
	}
	if g.sh.huge && g.oneOf("huge", 4) == 0 {
		a.Micros = math.MaxInt64 / 2
	}
	return a
}

// id draws an event or reference id. There are few, so that they repeat.
func (g *generator) id() string {
	id := fmt.Sprintf("e%d", g.oneOf("id", 60))
	if g.sh.disjoint {
		id = fmt.Sprintf("%s-%d", id, g.topic)
	}
	return id
}

func must[T any](b T, err error) T {
	if err != nil {
		panic(err)
	}
	return b
}

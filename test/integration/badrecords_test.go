package integration

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// TestBadRecords produces records that cannot be counted among good ones. Each of them has to be in
// the dead-letter topic with its bytes, origin and reason, and the good ones have to be counted.
func TestBadRecords(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a").start()
	addr, ops := a.ready()
	l := startLoad(c, 5, 10_000, 30_000)

	now := time.Now()
	event := func(change func(e *eventspb.AdEvent)) []byte {
		e := &eventspb.AdEvent{
			EventId: "bad", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, Account: "acct-000000", Campaign: "camp-0000000", PriceMicros: 1_000_000_000,
			Currency: "USD", EventMs: now.UnixMilli(),
		}
		change(e)
		return events.AppendEvent(nil, e)
	}
	bad := []struct {
		value  []byte
		reason string
		record *kgo.Record
	}{
		{value: []byte("\xff\xff\xff no protobuf"), reason: spendcounter.ReasonUndecodable},
		{value: bytes.Repeat([]byte{0}, 1000), reason: spendcounter.ReasonUndecodable},
		{value: event(func(e *eventspb.AdEvent) { e.PriceMicros = -1 }), reason: spendcounter.ReasonNegativePrice},
		{value: event(func(e *eventspb.AdEvent) { e.Currency = "XYZ" }), reason: spendcounter.ReasonUnknownCurrency},
		{value: event(func(e *eventspb.AdEvent) { e.Account = "" }), reason: spendcounter.ReasonNoAccount},
		{value: event(func(e *eventspb.AdEvent) { e.Campaign = "" }), reason: spendcounter.ReasonNoCampaign},
		{value: event(func(e *eventspb.AdEvent) { e.EventId = "" }), reason: spendcounter.ReasonNoEventID},
		{value: event(func(e *eventspb.AdEvent) { e.Type = 99 }), reason: spendcounter.ReasonUnknownType},
		{value: event(func(e *eventspb.AdEvent) { e.EventMs += 600_000 }), reason: spendcounter.ReasonFuture},
		{value: event(func(e *eventspb.AdEvent) { e.BudgetDay = 20260231 }), reason: spendcounter.ReasonBadDay},
		{value: event(func(e *eventspb.AdEvent) { e.Account = "acct-000001" }), reason: spendcounter.ReasonWrongPartition},
		{value: event(func(e *eventspb.AdEvent) { e.InsertionId = strings.Repeat("x", 900<<10) }), reason: spendcounter.ReasonOversized},
	}
	if events.Shard("acct-000000", events.DefaultShards) == events.Shard("acct-000001", events.DefaultShards) {
		t.Fatal("the two accounts share a partition: choose others")
	}
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range bad {
		bad[i].record = &kgo.Record{
			Topic: events.EventsTopic, Partition: events.Shard("acct-000000", events.DefaultShards), Key: []byte("acct-000000"), Value: bad[i].value,
			Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(strconv.Itoa(i))}},
		}
		if err := cl.ProduceSync(t.Context(), bad[i].record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	f.check(c, l.finish(), len(bad))

	rejected := map[string]*kgo.Record{}
	for _, r := range deadLetters(c) {
		rejected[string(r.Key)] = r
	}
	for i, b := range bad {
		origin := fmt.Sprintf("%s/%d/%d", b.record.Topic, b.record.Partition, b.record.Offset)
		r := rejected[origin]
		if r == nil {
			t.Errorf("%s (%s) is missing in the dead-letter topic", origin, b.reason)
			continue
		}
		if !bytes.Equal(r.Value, b.value) || r.Partition != b.record.Partition {
			t.Errorf("%s: %d bytes in partition %d, want the %d that were sent in %d", origin, len(r.Value), r.Partition, len(b.value), b.record.Partition)
		}
		for key, want := range map[string]string{
			processors.HeaderTopic: events.EventsTopic, processors.HeaderPartition: strconv.Itoa(int(b.record.Partition)),
			processors.HeaderOffset: strconv.FormatInt(b.record.Offset, 10), processors.HeaderKey: "acct-000000",
			processors.HeaderReason: b.reason, processors.HeaderApp: "spendcounter", "o.trace": strconv.Itoa(i),
		} {
			if got := header(r, key); got != want {
				t.Errorf("%s (%s): header %s is %q, want %q", origin, b.reason, key, got, want)
			}
		}
	}
	if n := a.metric(ops, "weir_processor_rejected_total"); n != float64(len(bad)) {
		t.Errorf("weir_processor_rejected_total is %v, want %d", n, len(bad))
	}
	a.folds(addr, 24)
}

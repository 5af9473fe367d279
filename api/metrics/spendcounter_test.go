package metrics

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// TestRestoredTotals: totals that a handler restores are not counted again, and what it adds to
// them is. Here 41 duplicates were counted by an earlier owner of the partition.
func TestRestoredTotals(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewSpend(registry)
	task, err := proto.Marshal(&spendpb.TaskState{Duplicates: 41, EarlyDrops: 3, Layout: 2})
	if err != nil {
		t.Fatal(err)
	}
	state := map[string][]byte{string(spendcounter.TableTask) + "task": task}
	c, err := spendcounter.New(spendcounter.Config{}, taskWith(state))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Stats().Duplicates; got != 41 {
		t.Fatalf("the handler restored %d duplicates, want 41", got)
	}
	h := m.observe(c, 0)
	for range 3 {
		if err := h.Flush(stream.Commit{}, &stream.Changes{}); err != nil {
			t.Fatal(err)
		}
	}
	all := series(t, registry)
	for _, name := range []string{"weir_spendcounter_duplicates_total{}", "weir_spendcounter_early_drops_total{}"} {
		if got, ok := all[name]; !ok || got != 0 {
			t.Errorf("%s is %v (%t), want 0", name, got, ok)
		}
	}
	total := increase{m.duplicates, 41}
	for _, n := range []uint64{44, 44, 50} {
		total.to(n)
	}
	if got := series(t, registry)["weir_spendcounter_duplicates_total{}"]; got != 9 {
		t.Errorf("the counter is %v after the total grew from 41 to 50, want 9", got)
	}
}

// TestPartsOver: events whose line item and arm have no row of their own are counted, also those of
// a pair that lost its row to another one.
func TestPartsOver(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewSpend(registry)
	task := taskWith(map[string][]byte{})
	c, err := spendcounter.New(spendcounter.Config{Shard: func([]byte) int32 { return 0 }, Parts: 2}, task)
	if err != nil {
		t.Fatal(err)
	}
	h := m.observe(c, 0)
	for i, lineItem := range []string{"a", "a", "b", "b", "c", "c", "d", "d", ""} { // two events each; the last has no part
		e := events.AppendEvent(nil, &eventspb.AdEvent{
			EventId: fmt.Sprint(i), Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: "acme", Campaign: "spring", PriceMicros: 10, Currency: "USD",
			BudgetDay: 20131109, EventMs: 1383998400000, IngestMs: 1383998400005, LineItem: lineItem,
		})
		b := &stream.Batch{Topic: events.EventsTopic, Records: []stream.Record{{Value: e, Offset: int64(i), TimeMs: 1383998400010}}}
		cm := stream.Commit{Incarnation: 1, OwnerEpoch: 1, Sequence: uint64(i) + 1, Next: map[string]int64{events.EventsTopic: int64(i) + 1}}
		if err := errors.Join(h.Fold(b), h.Flush(cm, &stream.Changes{})); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
	}
	if got := series(t, registry)["weir_spendcounter_parts_over_total{}"]; got != 4 {
		t.Errorf("with 2 parts, 8 events of 4 line items have %v events over, want 4", got)
	}
}

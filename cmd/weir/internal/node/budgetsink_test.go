package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// TestBudgetSinkKeepsItsProducer: requests, also concurrent ones, use one producer. After an error
// there is another one, which writes the next request, and nothing of the failed one.
func TestBudgetSinkKeepsItsProducer(t *testing.T) {
	layout := events.Layout{Shards: 2}
	b, err := devbroker.Start(devbroker.Config{Topics: events.PacingCatalog("eu", layout)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	sink := newBudgetSink(b.Kafka(), layout)
	t.Cleanup(sink.Close)
	produce := func(ctx context.Context, accounts ...string) error {
		var list []*budget.Document
		for _, a := range accounts {
			list = append(list, &budget.Document{Account: a, Version: 1, Zone: "UTC", Currency: "USD"})
		}
		return sink.Produce(ctx, list)
	}
	kept := func() *kafka.Producer {
		p := <-sink.producer.idle
		sink.producer.idle <- p
		return p
	}

	if err := produce(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	first := kept()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := produce(t.Context(), fmt.Sprint("a", i), fmt.Sprint("b", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p := kept(); p != first || p.Acked() != 17 {
		t.Fatalf("9 requests: %d records by a producer that is the first one: %t", p.Acked(), p == first)
	}

	if err := produce(t.Context(), strings.Repeat("x", 2<<20)); err == nil || !strings.Contains(err.Error(), "MESSAGE_TOO_LARGE") {
		t.Fatalf("a record that is too large: %v", err)
	}
	if p := kept(); p != nil {
		t.Error("a failed producer is kept")
	}
	if err := produce(t.Context(), "after"); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := produce(canceled, "canceled"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a canceled request: %v", err)
	}
	if err := produce(t.Context(), "last"); err != nil {
		t.Fatal(err)
	}
	ends, err := kafka.EndOffsets(t.Context(), b.Kafka(), events.BudgetsTopic)
	if n := ends[events.BudgetsTopic][0] + ends[events.BudgetsTopic][1]; n != 19 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

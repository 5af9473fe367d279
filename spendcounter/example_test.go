package spendcounter_test

import (
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// A runtime makes a Counter from committed state, folds batches and commits the changes of Flush.
func Example() {
	task := stream.Task{
		Partition: events.Shard("acme", events.DefaultShards),
		Get:       func(byte, []byte) ([]byte, error) { return nil, nil }, // no committed state yet
		Scan:      func(byte, []byte, func(key, value []byte) error) error { return nil },
	}
	c, err := spendcounter.New(spendcounter.Config{DC: "eu-west-1"}, task)
	if err != nil {
		log.Fatal(err)
	}
	value, err := proto.Marshal(&eventspb.AdEvent{
		EventId: "e1", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
		Account: "acme", Campaign: "spring", PriceMicros: 1200, Currency: "EUR", EventMs: 1_700_000_000_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	b := &stream.Batch{Topic: events.EventsTopic, Partition: task.Partition, NowMs: 1_700_000_000_100, Records: []stream.Record{
		{Value: value, Offset: 0, TimeMs: 1_700_000_000_050},
		{Value: value, Offset: 1, TimeMs: 1_700_000_000_060}, // the same event again
		{Value: []byte("?"), Offset: 2, TimeMs: 1_700_000_000_070},
	}}
	if err := c.Fold(b); err != nil {
		log.Fatal(err)
	}
	fmt.Println("refused:", b.Rejects[0].Reason)

	var ch stream.Changes
	commit := stream.Commit{NowMs: 1_700_000_000_100, Sequence: 1, Next: map[string]int64{events.EventsTopic: 3}}
	if err := c.Flush(commit, &ch); err != nil {
		log.Fatal(err)
	}
	for _, x := range ch.List {
		if x.Op == stream.OpPut && x.Table == spendcounter.TableSpend {
			var p eventspb.Spend
			if err := proto.Unmarshal(x.Value, &p); err != nil {
				log.Fatal(err)
			}
			fmt.Println(p.Campaign, p.BudgetDay, p.ByDc[0].ChargedMicros, p.Currency, "duplicates:", p.Duplicates)
		}
	}
	// Output:
	// refused: undecodable
	// spring 20231114 1200 EUR duplicates: 1
}

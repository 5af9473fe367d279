package loadgen_test

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/events/loadgen"
)

// A loop that produces 5,000 events per second. The caller has the clock and the producer.
func Example() {
	start := time.UnixMilli(1_777_636_800_000)
	gen, err := loadgen.New(loadgen.Config{Seed: 1, StartMs: start.UnixMilli()})
	if err != nil {
		fmt.Println(err)
		return
	}
	pacer, err := loadgen.NewPacer(5000)
	if err != nil {
		fmt.Println(err)
		return
	}
	produce := func(loadgen.Record) {}
	for tick := range 201 { // two seconds
		now := start.Add(time.Duration(tick) * 10 * time.Millisecond)
		for _, beat := range gen.Heartbeats(now.UnixMilli()) {
			produce(beat)
		}
		for range pacer.Take(now) {
			_, rec := gen.Append(nil, now.UnixMilli()) // an asynchronous producer keeps the bytes
			produce(rec)
		}
	}
	s := gen.Stats()
	fmt.Println(s.Impressions+s.Clicks+s.Duplicates, "events,", s.Heartbeats, "heartbeats")
	// Output: 10000 events, 72 heartbeats
}

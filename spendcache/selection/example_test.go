package selection_test

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
)

// A reader in eu evaluates the health records once a second. The counter of eu has stopped.
func ExampleSelector() {
	s, err := selection.New(selection.Config{Local: "eu", Ring: []string{"eu", "us"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := time.UnixMilli(1_700_000_000_000)
	health := func(dc string, newest time.Time) *eventspb.SpendHistogram {
		return &eventspb.SpendHistogram{WriterDc: dc, Origins: []*eventspb.OriginHealth{
			{Dc: "eu", WatermarkMs: newest.UnixMilli(), Count_60S: 90_000},
			{Dc: "us", WatermarkMs: newest.UnixMilli(), Count_60S: 70_000},
		}}
	}
	for n := range 10 {
		now := begin.Add(time.Duration(n) * time.Second)
		d := s.Decide(now, []selection.Dataset{
			{Health: health("eu", begin), Age: now.Sub(begin)},
			{Health: health("us", now), Age: time.Second},
		})
		if d.Switched() {
			fmt.Printf("after %d s: %s, because %s\n", n, d.DC, d.Reason)
		}
	}
	// Output:
	// after 0 s: eu, because eu is the own datacentre
	// after 6 s: us, because eu lags by 6.0 s in the events of eu
}

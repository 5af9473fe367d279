package spendcounter

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestUnwrittenDaysAreNotRead counts the reads of campaign days: none in a day that begins while
// the counter runs, even if the campaign days do not fit in memory; one each after a restart, and
// where the filter does not fit in memory.
func TestUnwrittenDaysAreNotRead(t *testing.T) {
	const campaigns = 2_000
	// fold adds an event of each campaign, a transaction for each hundred, and returns the reads.
	fold := func(s *store, c *Counter, from int) int {
		gets, at := s.gets, len(s.tables[TableSpend])
		for i := from; i < from+campaigns; i += 100 {
			b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
			for j := i; j < i+100; j++ {
				e := &eventspb.AdEvent{
					EventId: fmt.Sprint("e", at, " ", j), Type: 1, Account: "a", Campaign: fmt.Sprint("c", j), PriceMicros: 5,
					Currency: "USD", BudgetDay: 20240101, EventMs: epochMs, IngestMs: epochMs,
				}
				b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: s.next[events.EventsTopic], TimeMs: epochMs})
				s.next[events.EventsTopic]++
			}
			if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
				t.Fatal(err, b.Rejects)
			}
			s.flush(t, c, epochMs)
		}
		return s.gets - gets
	}
	s := newStore()
	c := mustNew(t, Config{CacheEntries: 1_000, ranking: 10}, s)
	if n := fold(s, c, 0); n > campaigns/50 {
		t.Errorf("%d reads of %d new campaign days", n, campaigns)
	}
	if n := fold(s, c, 0); n != campaigns {
		t.Errorf("%d reads of %d campaign days that were written", n, campaigns)
	}
	if n := fold(s, c, campaigns); n > campaigns/50 {
		t.Errorf("%d reads of %d new campaign days beside others", n, campaigns)
	}
	c = mustNew(t, Config{CacheEntries: 1_000, ranking: 10}, s)
	if n := fold(s, c, 2*campaigns); n < campaigns {
		t.Errorf("%d reads of %d new campaign days after a restart", n, campaigns)
	}
	s = newStore()
	c = mustNew(t, Config{CacheEntries: 200, ranking: 10}, s) // the filters get 3,200 bytes
	fold(s, c, 0)
	for _, r := range c.rankings.list {
		if r.written != nil {
			t.Errorf("the filters have %d bytes", c.filterSize())
		}
	}
	if n := fold(s, c, 0); n != campaigns {
		t.Errorf("%d reads of %d campaign days that were written", n, campaigns)
	}
}

package spendcounter

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// openShared opens a file of the shared data beside the repository, or skips the test.
func openShared(t *testing.T, name string) *os.File {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			t.Fatal("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
	f, err := os.Open(filepath.Join(root, "..", "shared", "data", name))
	if os.IsNotExist(err) {
		t.Skipf("the shared data is missing: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestRealFile counts the log of a real campaign. The totals are in the description of the data
// set.
func TestRealFile(t *testing.T) {
	z, err := gzip.NewReader(openShared(t, "ads/ipinyou_1458_220k.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	now := int64(1_700_000_000_000)
	s := newStore()
	c := mustNew(t, Config{DC: ownDC, CacheEntries: 8}, s)
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: now}
	fold := func() {
		if err := c.Fold(b); err != nil {
			t.Fatal(err)
		}
		if len(b.Rejects) > 0 {
			t.Fatalf("refused: %+v of %q", b.Rejects[0], b.Records[b.Rejects[0].Index].Value)
		}
		b.Records = b.Records[:0]
		now += healthMs
		s.flush(t, c, now)
	}
	add := func(e *eventspb.AdEvent) {
		b.Records = append(b.Records, stream.Record{Value: marshal(t, e), Offset: s.next[b.Topic], TimeMs: now})
		s.next[b.Topic]++
		if len(b.Records) == 5000 {
			fold()
		}
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		f := strings.Split(lines.Text(), ",")
		if f[0] == "seq" {
			continue
		}
		price, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		day, err := strconv.Atoi(strings.ReplaceAll(f[2][:10], "-", ""))
		if err != nil {
			t.Fatal(err)
		}
		e := &eventspb.AdEvent{
			EventId: f[0] + "/i", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, Account: "ipinyou",
			Campaign: f[1], PriceMicros: price * 10, Currency: "CNY", BudgetDay: int32(day), IngestMs: now,
		}
		add(e)
		if f[4] == "1" {
			e.EventId, e.Type, e.PriceMicros = f[0]+"/c", eventspb.EventType_EVENT_TYPE_CLICK, 0
			add(e)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	fold()
	var charged int64
	count := map[eventspb.EventType]uint64{}
	for _, p := range s.spends(t) {
		if p.Campaign != "1458" || p.Duplicates != 0 {
			t.Errorf("campaign %s has %d duplicates", p.Campaign, p.Duplicates)
		}
		for _, by := range p.ByDc {
			charged += by.ChargedMicros
			for _, n := range by.Events {
				count[n.Type] += n.Count
			}
		}
	}
	if charged != 147_125_090 || count[1] != 220_000 || count[2] != 156 || len(count) != 2 {
		t.Errorf("%d micros, events by type %v; want 147,125,090 micros, 220,000 impressions, 156 clicks", charged, count)
	}
	if o := s.health(t).Origins[0]; o.CumulativeMicros != charged || o.CumulativeCount != 220_156 {
		t.Errorf("health has %d micros of %d events", o.CumulativeMicros, o.CumulativeCount)
	}
}

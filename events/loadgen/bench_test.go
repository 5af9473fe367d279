package loadgen

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

func TestBenchLog(t *testing.T) {
	const n = 50_000
	for _, cfg := range []BenchConfig{
		{}, {Zipf: 1.1}, {Campaigns: 1}, {Campaigns: 99_991, Seed: 1<<30 - 1}, {Campaigns: 1_000_000, PerMs: 7},
	} {
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			a, err := NewBench(cfg)
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewBench(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ids, campaigns, shards := map[string]bool{}, map[string]bool{}, map[int32]bool{}
			micros := int64(0)
			var other []byte
			for i := range n {
				_, rec := a.Append(nil)
				var e eventspb.AdEvent
				if err := proto.Unmarshal(rec.Value, &e); err != nil {
					t.Fatal(err)
				}
				if len(rec.Value) < 72 || len(rec.Value) > 100 {
					t.Fatalf("event %d has %d bytes: %v", i, len(rec.Value), &e)
				}
				if e.Type != eventspb.EventType_EVENT_TYPE_IMPRESSION || e.PriceMicros <= 0 {
					t.Fatalf("event %d: %v", i, &e)
				}
				ids[e.EventId], campaigns[e.Campaign], shards[rec.Partition] = true, true, true
				micros += e.PriceMicros
				if other, rec = b.Append(other[:0]); i%1000 == 0 { // the second log must be equal
					want, err := proto.Marshal(&e)
					if err != nil || !bytes.Equal(want, rec.Value) {
						t.Fatalf("event %d differs between two runs: %v", i, err)
					}
				}
			}
			if len(ids) != n {
				t.Errorf("%d events have %d ids", n, len(ids))
			}
			if s := a.Stats(); s != (Stats{Impressions: n, Micros: micros}) {
				t.Errorf("Stats %+v, want %d impressions and %d micros", s, n, micros)
			}
			if cfg.Campaigns == 1 {
				if len(campaigns) != 1 || len(shards) != 1 {
					t.Errorf("%d campaigns in %d shards, want one", len(campaigns), len(shards))
				}
				return
			}
			if len(shards) != events.DefaultShards {
				t.Errorf("records in %d partitions, want %d", len(shards), events.DefaultShards)
			}
		})
	}
	if _, err := NewBench(BenchConfig{PerMs: -1}); err == nil {
		t.Error("a negative number of events a millisecond was accepted")
	}
	if _, err := NewBench(BenchConfig{Seed: 1 << 30}); err == nil {
		t.Error("a seed that makes ids too long was accepted")
	}
}

func BenchmarkBench(b *testing.B) {
	for name, cfg := range map[string]BenchConfig{"even": {}, "zipf": {Zipf: 1.1}} {
		b.Run(name, func(b *testing.B) {
			log, err := NewBench(cfg)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = log.Append(buf[:0])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkGenerator(b *testing.B) {
	g := mustNew(b, Config{StartMs: noon})
	var buf []byte
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		buf, _ = g.Append(buf[:0], noon+i/1000)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

package spendcounter

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// draw returns a function that draws campaigns in [0, n): evenly, or by Zipf with exponent 1.1.
func draw(dist string, n int, rng *rand.Rand) func() int {
	if dist == "even" {
		return func() int { return rng.IntN(n) }
	}
	z := rand.NewZipf(rng, 1.1, 1, uint64(n-1))
	return func() int { return int(z.Uint64()) }
}

// benchLog is batches of events in memory. Between rounds, renumber gives them new event ids and
// offsets.
type benchLog struct {
	batches []*stream.Batch
	ids     [][]byte // offsets of the last eight digits of each event id
	round   uint64
	next    map[string]int64 // by topic
}

const benchBatch = 4096

func newBenchLog(tb testing.TB, dist string, campaigns, events int) *benchLog {
	rng := rand.New(rand.NewPCG(1, 2))
	pick, l := draw(dist, campaigns, rng), &benchLog{next: map[string]int64{}}
	const base = int64(1_700_000_000_000)
	for i := range events {
		if i%benchBatch == 0 {
			l.batches = append(l.batches, &stream.Batch{Topic: "ads.events", Partition: 3, NowMs: base + int64(i/1000)})
		}
		k, now := pick(), base+int64(i/1000)
		typ := eventspb.EventType_EVENT_TYPE_IMPRESSION
		if rng.IntN(100) == 0 {
			typ = eventspb.EventType_EVENT_TYPE_CLICK
		}
		v := marshal(tb, &eventspb.AdEvent{
			EventId: fmt.Sprintf("%016x", i), Type: typ,
			Account: fmt.Sprintf("acct-%05d", k/10), Campaign: fmt.Sprintf("cmp-%07d", k), PriceMicros: rng.Int64N(5000),
			Currency: "USD", BudgetDay: 20231114, EventMs: now - 20, IngestMs: now,
		})
		b := l.batches[len(l.batches)-1]
		b.Records = append(b.Records, stream.Record{Value: v, TimeMs: now})
		l.ids = append(l.ids, v[2:18])
	}
	return l
}

// split gives the events line items and arms: 16 pairs.
func (l *benchLog) split(tb testing.TB) {
	i := 0
	for _, b := range l.batches {
		for j := range b.Records {
			e := &eventspb.AdEvent{}
			if err := proto.Unmarshal(b.Records[j].Value, e); err != nil {
				tb.Fatal(err)
			}
			e.LineItem, e.Arm = fmt.Sprintf("line-%03d", i*7%8), fmt.Sprintf("arm-%d", i*5%16/8)
			b.Records[j].Value = marshal(tb, e)
			l.ids[i] = b.Records[j].Value[2:18]
			i++
		}
	}
}

// delay makes a tenth of the events up to nine minutes older than their ingest, so that a batch
// needs several buckets of ids.
func (l *benchLog) delay(tb testing.TB) {
	rng := rand.New(rand.NewPCG(3, 4))
	i := 0
	for _, b := range l.batches {
		for j := range b.Records {
			if rng.IntN(10) == 0 {
				e := &eventspb.AdEvent{}
				if err := proto.Unmarshal(b.Records[j].Value, e); err != nil {
					tb.Fatal(err)
				}
				e.EventMs -= rng.Int64N(540_000)
				b.Records[j].Value = marshal(tb, e)
				l.ids[i] = b.Records[j].Value[2:18]
			}
			i++
		}
	}
}

// renumber makes new events of the events of the last round, so that none is a duplicate.
func (l *benchLog) renumber() {
	l.round++
	i := 0
	for _, b := range l.batches {
		for j := range b.Records {
			at := l.next[b.Topic]
			if b.Records[j].Offset, l.next[b.Topic] = at, at+1; len(b.Records[j].Headers) > 0 {
				b.Records[j].Headers[0].Value = events.AppendOrigin(b.Records[j].Headers[0].Value[:0], events.Origin{
					Partition: b.Partition, Offset: at, Previous: at - 1,
				})
			}
			binary.BigEndian.PutUint64(l.ids[i][:8], 0x6161616161616161+l.round&0xf+l.round>>4&0xf<<8+l.round>>8&0xf<<16+l.round>>12&0xf<<24)
			i++
		}
	}
}

// copied makes the batches those of four datacentres in turn: the own one and copies of three
// others. It returns the datacentres by topic of copied events.
func (l *benchLog) copied() map[string]string {
	topics := map[string]string{}
	for i, b := range l.batches {
		dc := []string{"", "ap", "sa", "us"}[i%4]
		if dc == "" {
			continue
		}
		b.Topic = events.CopiedEventsTopic(dc)
		topics[b.Topic] = dc
		for j := range b.Records {
			b.Records[j].Headers = []stream.Header{{Key: events.OriginHeader}}
		}
	}
	return topics
}

func BenchmarkFold(b *testing.B) {
	for _, name := range []string{
		"even", "even/datacentres", "zipf1.1", "zipf1.1/datacentres", "zipf1.1/delayed", "even/parts", "zipf1.1/parts", "even/hours", "zipf1.1/hours",
		"zipf1.1/hours/delayed",
	} {
		b.Run(name, func(b *testing.B) {
			dist, delayed := strings.CutSuffix(name, "/delayed")
			dist, hours := strings.CutSuffix(dist, "/hours")
			dist, split := strings.CutSuffix(dist, "/parts")
			dist, copied := strings.CutSuffix(dist, "/datacentres")
			l := newBenchLog(b, dist, 100_000, 400_000)
			if delayed {
				l.delay(b)
			}
			cfg := Config{Shard: anyShard, Hours: hours}
			if split {
				l.split(b)
				cfg.Parts = 20
			}
			if copied {
				cfg.DC, cfg.Inputs.Copied = "eu", l.copied()
			}
			s := newStore()
			c := mustNew(b, cfg, s)
			var ch stream.Changes
			round := func() {
				for _, batch := range l.batches {
					if err := c.Fold(batch); err != nil || len(batch.Rejects) > 0 {
						b.Fatal(err, batch.Rejects[:min(1, len(batch.Rejects))])
					}
				}
			}
			flush := func() {
				ch.Reset()
				if err := c.Flush(s.commit(1_700_000_000_000), &ch); err != nil {
					b.Fatal(err)
				}
			}
			l.renumber()
			round()
			flush()
			n, cpu := 0, time.Duration(0)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				l.renumber()
				flush()
				from := threadTime(b)
				b.StartTimer()
				round()
				cpu += threadTime(b) - from
				n += len(l.ids)
			}
			if d := c.Stats().Duplicates; d != 0 {
				b.Fatalf("%d duplicates in a log without any", d)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(n)/cpu.Seconds(), "events/core-s")
			b.ReportMetric(float64(c.Stats().EntryBytes)/float64(c.Stats().Entries), "B/campaign")
		})
	}
}

// BenchmarkFlush measures a commit in which every one of 100,000 campaigns changed.
func BenchmarkFlush(b *testing.B) {
	for _, hours := range []bool{false, true} {
		b.Run(fmt.Sprintf("hours=%t", hours), func(b *testing.B) {
			l := newBenchLog(b, "even", 100_000, 400_000)
			s := newStore()
			c := mustNew(b, Config{Shard: anyShard, Hours: hours}, s)
			var ch stream.Changes
			dirty, bytes, cpu := 0, 0, time.Duration(0)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				b.StopTimer()
				l.renumber()
				for _, batch := range l.batches {
					if err := c.Fold(batch); err != nil {
						b.Fatal(err)
					}
				}
				dirty += len(c.cache.dirty)
				ch.Reset()
				from := threadTime(b)
				b.StartTimer()
				if err := c.Flush(s.commit(1_700_000_000_000), &ch); err != nil {
					b.Fatal(err)
				}
				cpu += threadTime(b) - from
				for _, change := range ch.List {
					if change.Table == TableSpend || change.Table == TableHours {
						bytes += len(change.Key) + len(change.Value)
					}
				}
			}
			b.ReportMetric(float64(dirty)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(dirty)/cpu.Seconds(), "records/core-s")
			b.ReportMetric(float64(bytes)/float64(dirty), "B/record")
		})
	}
}

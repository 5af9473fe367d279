package spendcache

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// today is the budget day of the tests. Virtual time begins on that day.
const today = 20000101

// Size of the datasets of BenchmarkCache: campaign days in each of three.
const (
	benchAccounts  = 100_000
	benchCampaigns = 10 // of an account
)

// BenchmarkCache measures a cache of three datasets with a million campaign days each: the time
// until it has read them, from empty and after a restart, its memory, and the rate and latency of
// answers.
func BenchmarkCache(b *testing.B) {
	cfg := Config{DC: "eu", Ring: []string{"eu", "us", "ap"}, Writers: []string{"us", "ap"}}
	cfg.Selection.Stale, cfg.Selection.Unusable = time.Hour, time.Hour // no counter writes
	var topics []stream.Topic
	for _, name := range cfg.Topics() {
		topics = append(topics, stream.Topic{Name: name, Partitions: events.DefaultShards, Cleanup: stream.CleanupCompact})
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: topics})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = broker.Close() })
	cfg.Kafka, cfg.Dir = broker.Kafka(), b.TempDir()
	for _, dc := range cfg.Ring {
		fillDataset(b, &cfg, dc)
	}
	start := func() (c *Cache, stop func()) {
		c, err := New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		select {
		case <-c.follower.CaughtUp():
		case err := <-ended:
			b.Fatal(err)
		}
		return c, func() {
			cancel()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		}
	}
	began := time.Now()
	_, stop := start()
	empty := time.Since(began)
	stop()
	began = time.Now()
	c, stop := start()
	restart := time.Since(began)
	defer stop()
	for c.shards[0].choice.Load() == nil || c.shards[0].choice.Load().Mode != selection.Normal {
		runtime.Gosched()
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	b.Run("Account", func(b *testing.B) {
		latencies := readAccounts(b, c)
		b.ReportMetric(float64(len(latencies))/b.Elapsed().Seconds(), "answers/s")
		b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds()), "p99-us")
		b.ReportMetric(empty.Seconds(), "s-from-empty")
		b.ReportMetric(restart.Seconds(), "s-after-restart")
		b.ReportMetric(float64(memory.HeapInuse)/(1<<20), "heap-MiB")
	})
}

// readAccounts reads b.N accounts on all processors, and returns the latencies in order.
func readAccounts(b *testing.B, c *Cache) []time.Duration {
	b.Helper()
	workers := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	var all []time.Duration
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			var mine []time.Duration
			for n := w; n < b.N; n += workers {
				account := fmt.Sprintf("account-%d", n*7919%benchAccounts)
				began, rows := time.Now(), 0
				_, err := c.Account(b.Context(), AccountQuery{Account: account, From: today}, func(Row) error { rows++; return nil })
				if err != nil || rows != benchCampaigns {
					b.Errorf("%s: %d rows, %v", account, rows, err)
					return
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	work.Wait()
	slices.Sort(all)
	return all
}

// fillDataset writes the rows of a dataset, and its health.
func fillDataset(b *testing.B, cfg *Config, dc string) {
	b.Helper()
	p, err := kafka.NewProducer(cfg.Kafka, cfg.topic(dc))
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	put := func(shard int32, key []byte, m proto.Message) {
		value, err := proto.Marshal(m)
		if err == nil {
			err = p.Produce(b.Context(), shard, key, value)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	usd, err := events.ParseCurrency("USD")
	if err != nil {
		b.Fatal(err)
	}
	for n := range benchAccounts {
		account := fmt.Sprintf("account-%d", n)
		for m := range benchCampaigns {
			campaign := fmt.Sprintf("campaign-%d", m)
			put(events.Shard(account, events.DefaultShards),
				spendcounter.AppendKey([]byte{spendcounter.TableSpend}, []byte(account), []byte(campaign), today, usd),
				&eventspb.Spend{
					Account: account, Campaign: campaign, BudgetDay: today, Currency: "USD", OwnerEpoch: 7, Sequence: uint64(n), AsOfOffset: int64(n),
					AsOfMs: 1_700_000_000_000, Incarnation: 1_700_000_000_000, ByDc: []*eventspb.SpendByDC{
						{ServingDc: "eu", ChargedMicros: int64(n) * 100, Events: []*eventspb.TypeCount{{Type: 1, Count: uint64(n)}, {Type: 2, Count: 7}}},
					},
				})
		}
	}
	for shard := range int32(events.DefaultShards) {
		put(shard, append([]byte{spendcounter.TableHealth}, spendcounter.HealthKey(dc, shard)...), &eventspb.SpendHistogram{
			WriterDc: dc, Shard: shard, Incarnation: 1_700_000_000_000, WrittenAtMs: time.Now().UnixMilli(),
		})
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

package follower

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// benchRows is the number of rows of BenchmarkFollower.
const benchRows = 1_000_000

// BenchmarkFollower measures the time until a follower of a million rows of 120 bytes in 24
// partitions has caught up: with an empty store, and after a restart.
func BenchmarkFollower(b *testing.B) {
	broker, err := devbroker.Start(devbroker.Config{Topics: []stream.Topic{{Name: "rows", Partitions: 24, Cleanup: stream.CleanupCompact}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = broker.Close() })
	fill(b, broker.Kafka())
	caughtUp := func(b *testing.B, dir string) {
		b.Helper()
		f, err := New(Config{Kafka: broker.Kafka(), Dir: dir, Name: "bench", Topics: []Topic{{Name: "rows"}}})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		select {
		case <-f.CaughtUp():
		case err := <-ended:
			b.Fatal(err)
		}
		b.StopTimer()
		if _, found, err := f.Get("rows", 7, benchKey(7)); !found || err != nil {
			b.Errorf("a row: %t, %v", found, err)
		}
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
	b.Run("empty", func(b *testing.B) {
		for n := range b.N {
			caughtUp(b, fmt.Sprintf("%s/%d", b.TempDir(), n))
		}
	})
	b.Run("restart", func(b *testing.B) {
		dir := b.TempDir()
		caughtUp(b, dir)
		b.ResetTimer()
		for range b.N {
			caughtUp(b, dir)
		}
	})
}

// benchKey returns a key of 40 bytes whose order is not that of i.
func benchKey(i uint64) []byte {
	return fmt.Appendf(nil, "account-%016x-campaign-%06d", i*0x9e3779b97f4a7c15, i%1_000_000)
}

func fill(b *testing.B, k kafka.Cluster) {
	b.Helper()
	p, err := kafka.NewProducer(k, "rows")
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	value := make([]byte, 80)
	for i := range uint64(benchRows) {
		binary.BigEndian.PutUint64(value[8*(i%10):], i*0x9e3779b97f4a7c15)
		if err := p.Produce(b.Context(), int32(i%24), benchKey(i), value); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkApply measures the changes of rows, in a store without brokers.
func BenchmarkApply(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("OnChange=%t", watched), func(b *testing.B) {
			f, p := standalone(b, watched)
			recs := make([]*kgo.Record, 1000)
			for i := range recs {
				recs[i] = &kgo.Record{Key: benchKey(uint64(i)), Value: make([]byte, 80)}
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				for i, r := range recs {
					r.Offset = int64(n*len(recs) + i)
				}
				a := f.newApplier()
				if err := a.records(p, recs); err != nil {
					b.Fatal(err)
				}
				if err := a.commit(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(recs)), "ns/change")
		})
	}
}

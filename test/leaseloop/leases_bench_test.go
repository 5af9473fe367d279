package leaseloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// BenchmarkLiberator runs the liberator on the dev broker, or on the brokers of
// WEIR_TEST_BENCH_BROKERS. It reads n leases, of which 100,000 (or all, if fewer) then end within
// one second, in 200 pools whose budgets allow that. It reports changes per second, the time from
// the end of a lease to its command, and the memory with a million other leases.
func BenchmarkLiberator(b *testing.B) {
	for _, n := range []int64{100_000, 1_000_000} {
		if testing.Short() && n > 100_000 {
			continue
		}
		b.Run(fmt.Sprintf("leases=%d", n), func(b *testing.B) {
			for b.Loop() {
				endOf(b, n)
			}
		})
	}
}

const (
	benchTasks = 24 // partitions that broker.Load creates
	benchPools = 200
)

func benchKafka(b *testing.B) kafka.Cluster {
	if brokers := os.Getenv("WEIR_TEST_BENCH_BROKERS"); brokers != "" {
		return kafka.Cluster{Brokers: strings.Split(brokers, ",")}
	}
	broker, err := devbroker.Start(devbroker.Config{TopicBytes: 4 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := broker.Close(); err != nil {
			b.Error(err)
		}
	})
	return broker.Kafka()
}

// endOf loads n leases and measures their ends.
func endOf(b *testing.B, n int64) {
	ctx, k := b.Context(), benchKafka(b)
	proc, err := liberator.ProcessorConfig{Regions: []string{"eu"}, Partitions: benchTasks}.Processor()
	if err != nil {
		b.Fatal(err)
	}
	suffix := strconv.FormatInt(time.Now().UnixNano(), 36)
	proc.Inputs, proc.App, proc.Changelog, proc.DLQ = []string{proc.Inputs[0] + suffix}, proc.App+suffix, proc.Changelog+suffix, "dlq"+suffix
	out := proc.Outputs[0].Topic + suffix
	proc.Outputs[0].Topic = out
	compact := "compact"
	for topic, config := range map[string]map[string]*string{proc.Changelog: {"cleanup.policy": &compact}, proc.DLQ: nil, out: nil} {
		if err := broker.Create(ctx, k, topic, benchTasks, config); err != nil {
			b.Fatal(err)
		}
	}
	ending := min(n, 100_000)
	begin := time.Now().Add(time.Duration(n/20_000+5) * time.Second).UnixMilli() // all leases are read by then
	if err := broker.Load(ctx, k, proc.Inputs[0], n+benchPools, leaseLog(b, n, ending, begin)); err != nil {
		b.Fatal(err)
	}
	// The memtables take space from the cache: a cache of their size holds no block.
	rt, err := processors.New(processors.Config{Kafka: k, Dir: b.TempDir(), Instance: "bench", CacheBytes: 256 << 20}, proc)
	if err != nil {
		b.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- rt.Run(run) }()
	took := reach(b, done, func() int64 { return broker.Applied(rt) - (n+benchPools)/4 }, (n+benchPools)*3/4)
	b.ReportMetric(float64((n+benchPools)*3/4)/took.Seconds(), "changes/s")
	if late := time.Now().UnixMilli() - begin; late > 0 {
		b.Logf("the last lease was read %d ms after the first one ended: the delays include that", late)
	}
	written := func() int64 {
		ends, err := kafka.EndOffsets(ctx, k, out)
		if err != nil {
			b.Fatal(err)
		}
		sum := int64(0)
		for _, end := range ends[out] {
			sum += end
		}
		return sum // includes a marker for each transaction
	}
	delay := func(share int64, name string) {
		at := ending * share / 100
		reach(b, done, written, at)
		b.ReportMetric(float64(time.Now().UnixMilli()-begin-1000*share/100), name)
	}
	delay(50, "delay-p50-ms")
	delay(99, "delay-p99-ms")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "process-MiB")
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// leaseLog returns the settings of all pools, and n leases. The last ones end one after another
// within the second after begin, the others in an hour.
func leaseLog(b *testing.B, n, ending, begin int64) broker.Source {
	i := int64(-benchPools)
	return func() broker.Record {
		pool := fmt.Sprint("pool-", (i+benchPools)%benchPools)
		c := &eventspb.LeaseChange{Region: "eu", Client: "client", Pool: pool, AtMs: begin}
		if i < 0 {
			c.Row = &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{Version: 1, QuarantineMs: 60_000, Buckets: 10}}
		} else {
			end := begin + 3_600_000
			if i >= n-ending {
				end = begin + 1000*(i-n+ending)/ending
			}
			c.Row = &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
				Resource: fmt.Sprintf("https://resource.example/%09d", i), Version: 1, Owner: "eu", Holder: pool + "#" + fmt.Sprint("key-", i), ExpiresMs: end,
			}}
		}
		i++
		value, err := proto.Marshal(c)
		if err != nil {
			b.Fatal(err)
		}
		return broker.Record{Partition: events.LeaseShard("client", pool, benchTasks), Key: []byte("client\x00" + pool), Value: value}
	}
}

// reach waits until value is at least want, and returns the time since value was first positive.
func reach(b *testing.B, done chan error, value func() int64, want int64) time.Duration {
	var began time.Time
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			b.Fatal(errors.Join(errors.New("the processor ended"), err))
		case <-tick.C:
		}
		n := value()
		if began.IsZero() && n > 0 {
			began = time.Now()
		}
		if n >= want {
			return time.Since(began)
		}
	}
}

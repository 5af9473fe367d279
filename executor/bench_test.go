package executor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// BenchmarkCommands measures writes to a table in memory, sixteen at a time: through the executor,
// from the bytes of the record to the bytes of the result, and through the SDK with a finished
// request.
func BenchmarkCommands(b *testing.B) {
	const rows, callers = 1024, 16 // each row belongs to one caller
	run := func(b *testing.B, f func(i, n int) error) {
		b.ResetTimer()
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for n := c; n < b.N; n += callers {
					if err := f(n%rows, n/rows); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	}
	prepared := func(b *testing.B) *fixture {
		w := newFixture(b, dynamotest.Profile{})
		for i := range rows {
			w.set(lease.ResourceRow("c", fmt.Sprint("r", i)), lease.Row{Version: 1, Owner: "eu", Available: 1})
		}
		return w
	}
	b.Run("executor", func(b *testing.B) {
		w := prepared(b)
		e := w.executor(func(c *Config) { c.PublishResult = func(context.Context, int32, []byte, []byte) error { return nil } })
		records := make([]*stream.SinkRecord, b.N)
		for n := range records {
			records[n] = record(b, revoke(n%rows, n/rows))
		}
		run(b, func(i, n int) error { return e.Do(context.Background(), records[n*rows+i]) })
	})
	b.Run("sdk", func(b *testing.B) {
		w := prepared(b)
		e := w.executor()
		run(b, func(i, n int) error {
			o, err := e.commands.Make(revoke(i, n), 20_000)
			if err != nil {
				return err
			}
			in := table.Update(testTable, o.Row, &o.Write, table.Item{table.Bucket: table.S(o.Bucket)})
			_, err = w.plain.Client("eu").UpdateItem(context.Background(), in, w.plain.Options)
			return err
		})
	})
}

// revoke is the command that changes row i for the nth time.
func revoke(i, n int) *eventspb.LeaseCommand {
	return &eventspb.LeaseCommand{Id: fmt.Sprint(i), Client: "c", Pool: "p", Region: "eu", By: "dedup", Command: &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{
		Resource: fmt.Sprint("r", i), Version: int64(1 + n), AvailableMs: 5, Buckets: 4, Holder: lease.Holder("p", "k"),
	}}}
}

// BenchmarkPending carries out commands that wait in Kafka, with several bounds of the commands in
// memory: few are enough for 64 concurrent commands.
func BenchmarkPending(b *testing.B) {
	const parts, rows = 12, 1024
	for _, pending := range []int{64, 256, 2000, 20_000} {
		b.Run(fmt.Sprint(pending), func(b *testing.B) {
			broker, err := devbroker.Start(devbroker.Config{Topics: events.LeaseCatalog([]string{"eu", "us"}, parts)})
			if err != nil {
				b.Fatal(err)
			}
			defer broker.Close()
			w := newFixture(b, dynamotest.Profile{})
			for i := range rows {
				w.set(lease.ResourceRow("c", fmt.Sprint("r", i)), lease.Row{Version: 1, Owner: "eu", Available: 1})
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var done atomic.Int64
			e := w.executor(func(c *Config) {
				c.Kafka, c.Pending = kafka.Cluster{Brokers: broker.Addrs()}, pending
				c.PublishResult = func(context.Context, int32, []byte, []byte) error {
					if done.Add(1) == int64(b.N) {
						cancel()
					}
					return nil
				}
			})
			p, err := kafka.NewProducer(e.cfg.Kafka, events.LeaseCommandsTopic("eu"))
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			for n := range b.N {
				if err := p.Produce(ctx, int32(n%rows%parts), []byte("c|p"), record(b, revoke(n%rows, n/rows)).Value); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Flush(ctx); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			if err := e.Run(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

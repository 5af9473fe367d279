package executor

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
	"github.com/weirhq/weir/processors/effects"
)

// BenchmarkCommands makes the writes of commands on a table in memory, sixteen at a time: by the executor, from the record's bytes to
// the result's, and by the SDK with a request that is ready.
func BenchmarkCommands(b *testing.B) {
	const rows, hands = 1024, 16 // a row is always one hand's
	run := func(b *testing.B, f func(i, n int) error) {
		b.ResetTimer()
		var wg sync.WaitGroup
		for h := range hands {
			wg.Go(func() {
				for n := h; n < b.N; n += hands {
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
	world := func(b *testing.B) *world {
		w := newWorld(b, dynamotest.Profile{})
		for i := range rows {
			w.set(lease.ResourceRow("c", fmt.Sprint("r", i)), lease.Row{Version: 1, Owner: "eu", Available: 1})
		}
		return w
	}
	command := func(i, n int) *eventspb.LeaseCommand {
		return &eventspb.LeaseCommand{Id: fmt.Sprint(i), Client: "c", Pool: "p", Region: "eu", By: "dedup", Command: &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{
			Resource: fmt.Sprint("r", i), Version: int64(1 + n), AvailableMs: 5, Shelves: 4, Holder: lease.Holder("p", "k"),
		}}}
	}
	b.Run("executor", func(b *testing.B) {
		w := world(b)
		e := w.executor(func(c *Config) { c.Results = func(context.Context, int32, []byte, []byte) error { return nil } })
		records := make([]*effects.Record, b.N)
		for n := range records {
			records[n] = record(b, command(n%rows, n/rows))
		}
		run(b, func(i, n int) error { return e.Do(context.Background(), records[n*rows+i]) })
	})
	b.Run("sdk", func(b *testing.B) {
		w := world(b)
		e := w.executor()
		run(b, func(i, n int) error {
			o, err := e.terms.Make(command(i, n), 20_000)
			if err != nil {
				return err
			}
			in := leasetable.Update(testTable, o.Row, &o.Write, leasetable.Item{leasetable.Shard: leasetable.S(o.Shelf)})
			_, err = w.plain.Client("eu").UpdateItem(context.Background(), in, w.plain.Options)
			return err
		})
	})
}

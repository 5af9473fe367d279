package dev

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/loadgen"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// newLoadCmd returns `weir load`.
func newLoadCmd(a *cli.App) *cobra.Command {
	var rate int64
	c := &cobra.Command{
		Use:   "load",
		Short: "Gives what runs something to do, as weir dev has it: ad events, and users of leases in every region",
		Long: "Gives what runs something to do, as weir dev has it: ad events into ads.events, and users of leases in every region, whose\n" +
			"number goes up and down. It makes the client and the pool demo with 100 resources in each region, unless they are there; topics\n" +
			"and table must be. It is for a look at a weir of your own: what it produces is counted. To measure, use weir bench.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rate < 0 || rate > 1_000_000 {
				return cli.UsageError(fmt.Sprintf("--rate %d is out of range", rate), "use 0 to 1000000 events a second")
			}
			return generateLoad(cmd.Context(), a, rate)
		},
	}
	c.Flags().Int64Var(&rate, "rate", 1000, "ad events a second; 0: none, only heartbeats")
	connect.LeaseFlags(a, c.Flags())
	return c
}

func generateLoad(ctx context.Context, a *cli.App, rate int64) error {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return err
	}
	d, err := newDemo(ctx, cfg.Leases)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.prepare(ctx); err != nil {
		return connect.LeaseFailure("cannot prepare the pool "+demoName, err)
	}
	layout := node.SpendRole(cfg).Layout
	var produced atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return produceEvents(ctx, k, layout, rate, &produced) })
	g.Go(func() error { d.use(ctx); return nil })
	g.Go(func() error {
		t := time.NewTicker(10 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-t.C:
				a.Notef("%s  %d events produced, the first campaign is %s  %s", now.Format(time.TimeOnly), produced.Load(), loadgen.BusiestCampaign(), d.held())
			}
		}
	})
	return g.Wait()
}

// produceEvents produces events at a rate a second, and heartbeats, until ctx ends. count gets their number, unless it is nil.
func produceEvents(ctx context.Context, k kafka.Cluster, layout events.Layout, rate int64, count *atomic.Int64) error {
	sink, err := kafka.NewProducer(k, layout.Name(events.EventsTopic))
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	gen, err := loadgen.New(loadgen.Config{StartMs: time.Now().UnixMilli(), Shards: layout.Partitions()})
	if err != nil {
		return err
	}
	pacer, err := loadgen.NewPacer(rate)
	if err != nil {
		return err
	}
	for pause.Poll(ctx) {
		now := time.Now()
		for _, r := range gen.Heartbeats(now.UnixMilli()) {
			if err := sink.Produce(ctx, r.Partition, r.Key, r.Value); err != nil && ctx.Err() == nil {
				return cli.Fail(0, "cannot produce heartbeats", err, "")
			}
		}
		var buf []byte
		for range pacer.Take(now) {
			var r loadgen.Record
			buf, r = gen.Append(buf[:0], now.UnixMilli())
			if err := sink.Produce(ctx, r.Partition, r.Key, r.Value); err != nil && ctx.Err() == nil {
				return cli.Fail(0, "cannot produce events", err, "")
			}
			if count != nil {
				count.Add(1)
			}
		}
	}
	return nil
}

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
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// newLoadCmd returns `weir load`.
func newLoadCmd(a *cli.App) *cobra.Command {
	var rate int64
	var noLeases bool
	c := &cobra.Command{
		Use:   "load",
		Short: "Generate the load of weir dev: ad events, and users of leases in every region",
		Long: "Generate the load of weir dev on your cluster: ad events in ads.events, and users of leases in\n" +
			"every region, whose number rises and falls. It creates client and pool \"demo\" with 100 resources\n" +
			"in each region, unless they exist. Topics and lease table must exist. The events are counted like\n" +
			"any others, so use it for demonstrations only. To measure, use `weir bench`.\n\n" +
			"--no-leases produces ad events only, and needs no lease table.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rate < 0 || rate > 1_000_000 {
				return cli.UsageError(fmt.Sprintf("--rate %d is out of range", rate), "use 0 to 1000000 events per second")
			}
			return generateLoad(cmd.Context(), a, rate, !noLeases)
		},
	}
	c.Flags().Int64Var(&rate, "rate", 1000, "ad events per second; 0: heartbeats only")
	c.Flags().BoolVar(&noLeases, "no-leases", false, "ad events only")
	connect.LeaseFlags(a, c.Flags())
	return c
}

func generateLoad(ctx context.Context, a *cli.App, rate int64, leases bool) error {
	cfg, k, err := connect.Cluster(ctx, a)
	if err != nil {
		return err
	}
	layout := node.SpendCounter(cfg).Layout
	state, err := connect.StatePartitions(ctx, k, layout, cfg.DC)
	if err != nil {
		return err
	}
	to := connect.ShardedTopic{Kafka: k, Name: layout.Name(events.EventsTopic), Shards: layout.Partitions()}
	if err := to.Check(ctx, a, state); err != nil {
		return err
	}
	var produced atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	users := func() string { return "" }
	if leases {
		d, err := newDemo(ctx, cfg.Leases)
		if err != nil {
			return err
		}
		defer d.close()
		if err := d.prepare(ctx); err != nil {
			return connect.LeaseFailure("cannot prepare the pool "+demoName, err)
		}
		users = func() string { return fmt.Sprintf("  %s", d.counts()) }
		g.Go(func() error { d.use(ctx); return nil })
	}
	g.Go(func() error { return produceEvents(ctx, k, eventLoad{layout: layout, rate: rate, count: &produced}) })
	g.Go(func() error {
		t := time.NewTicker(10 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-t.C:
				a.Notef("%s  %d events produced, mostly of campaign %s%s", now.Format(time.TimeOnly), produced.Load(),
					loadgen.BusiestCampaign(), users())
			}
		}
	})
	return g.Wait()
}

// eventLoad is the load of one topic of events.
type eventLoad struct {
	layout events.Layout
	rate   int64         // events per second
	count  *atomic.Int64 // gets the number of events; nil: nothing does
	number int           // of the generator: those of one run have different events
	dc     string        // serving datacentre; empty: the one that counts
	// takesPart is loadgen.Config.TakesPart; nil: all campaigns take part in all auctions.
	takesPart func(account, campaign, request string) bool
	// shown is loadgen.Config.Shown; nil: nothing takes the ads that were shown.
	shown func(account, campaign string, expectedMicros int64)
}

// produceEvents produces events and heartbeats until ctx ends.
func produceEvents(ctx context.Context, k kafka.Cluster, l eventLoad) error {
	sink, err := kafka.NewProducer(k, l.layout.Name(events.EventsTopic))
	if err != nil {
		return cli.Fail(0, "cannot produce events", err, "")
	}
	defer sink.Close()
	gen, err := loadgen.New(loadgen.Config{
		Seed: uint64(l.number), StartMs: time.Now().UnixMilli() + int64(l.number), Shards: l.layout.Partitions(), DC: l.dc,
		TakesPart: l.takesPart, Shown: l.shown,
	})
	if err != nil {
		return err
	}
	pacer, err := loadgen.NewPacer(l.rate)
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
			if r.Value == nil { // no campaign takes part in the auction
				continue
			}
			if err := sink.Produce(ctx, r.Partition, r.Key, r.Value); err != nil && ctx.Err() == nil {
				return cli.Fail(0, "cannot produce events", err, "")
			}
			if l.count != nil {
				l.count.Add(1)
			}
		}
	}
	return nil
}

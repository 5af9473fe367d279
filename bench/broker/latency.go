package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// LatencyBench measures the time from a produced event to its visibility in a query.
type LatencyBench struct {
	Capacity, Measure time.Duration
	Share             float64
}

// Rows measures the time from a produced event to its visible spend.
func (b *LatencyBench) Rows(ctx context.Context, e *Env, rounds int) ([]Figure, error) {
	var p50, p99 []float64
	for range rounds {
		took, err := b.run(ctx, e)
		if err != nil {
			return nil, err
		}
		p50, p99 = append(p50, took[len(took)/2].Seconds()), append(p99, took[len(took)*99/100].Seconds())
	}
	what := fmt.Sprintf("produced to visible at %.0f %% of what this machine sustains", b.Share*100)
	return []Figure{newFigure(what+", p50", "s", p50), newFigure(what+", p99", "s", p99)}, nil
}

// run returns the times of the probes, sorted.
func (b *LatencyBench) run(ctx context.Context, e *Env) (took []time.Duration, err error) {
	topic := fmt.Sprintf("weir.bench.latency-%d.%s", time.Now().UnixNano(), events.EventsTopic)
	if err := Create(ctx, e.Kafka, topic, events.DefaultShards, nil); err != nil {
		return nil, err
	}
	proc, err := benchCounter(topic, e.Memory)
	if err != nil {
		return nil, err
	}
	topics, err := isolate(ctx, e.Kafka, &proc)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, topics.remove(ctx)) }()
	cfg := e.config()
	if cfg.Dir, err = os.MkdirTemp("", "weir-bench"); err != nil {
		return nil, err
	}
	rt, err := processors.New(cfg, proc)
	if err != nil {
		return nil, err
	}
	lctx, stop := context.WithCancel(ctx)
	g, lctx := errgroup.WithContext(lctx)
	var rate, sent atomic.Int64 // events per second; 0 means unlimited
	g.Go(func() error { return rt.Run(lctx) })
	g.Go(func() error { return produceAt(lctx, e.Kafka, topic, &rate, &sent) })
	g.Go(func() error {
		defer stop()
		sustained, err := b.capacity(lctx, rt)
		if err != nil {
			return err
		}
		rate.Store(max(1, int64(b.Share*sustained)))
		e.Notef("sustained %.2f M/s, measured at %.2f M/s", sustained/1e6, b.Share*sustained/1e6)
		if err := caughtUp(lctx, rt, &sent); err != nil {
			return err
		}
		took, err = b.probe(lctx, e.Kafka, topic, rt)
		return err
	})
	err = g.Wait()
	if len(took) > 0 && errors.Is(err, context.Canceled) {
		err = nil
	}
	slices.Sort(took)
	return took, errors.Join(err, os.RemoveAll(cfg.Dir))
}

// capacity returns the number of events per second that are counted under unlimited load.
func (b *LatencyBench) capacity(ctx context.Context, rt *processors.Runtime) (float64, error) {
	for Applied(rt) == 0 {
		if !pause.Poll(ctx) {
			return 0, ctx.Err()
		}
	}
	half := b.Capacity / 2
	if err := pass(ctx, half); err != nil {
		return 0, err
	}
	from, began := Applied(rt), time.Now()
	err := pass(ctx, half)
	return float64(Applied(rt)-from) / time.Since(began).Seconds(), err
}

func pass(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if !pause.Poll(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// caughtUp waits until the counter is less than half a second behind.
func caughtUp(ctx context.Context, rt *processors.Runtime, sent *atomic.Int64) error {
	for {
		goal := sent.Load()
		if err := pass(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		if Applied(rt) >= goal {
			return nil
		}
	}
}

// produceAt produces events at rate, which may change.
func produceAt(ctx context.Context, k kafka.Cluster, topic string, rate, sent *atomic.Int64) error {
	sink, err := kafka.NewProducer(k, topic)
	if err != nil {
		return err
	}
	defer sink.Close()
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Zipf: 1.1})
	if err != nil {
		return err
	}
	var buf []byte
	last := time.Now()
	for due := 0.0; ctx.Err() == nil; {
		n := 1000
		if r := rate.Load(); r > 0 {
			now := time.Now()
			due += float64(r) * now.Sub(last).Seconds()
			last = now
			if n = int(due); n == 0 {
				pause.Poll(ctx)
				continue
			}
			due -= float64(n)
		} else {
			last = time.Now()
		}
		for range n {
			var r loadgen.Record
			buf, r = gen.Append(buf[:0])
			if err := sink.Produce(ctx, r.Partition, r.Key, r.Value); err != nil {
				return err
			}
		}
		sent.Add(int64(n))
	}
	return nil
}

// probe produces an event of a new campaign every 50 ms and polls for it every millisecond.
func (b *LatencyBench) probe(ctx context.Context, k kafka.Cluster, topic string, rt *processors.Runtime) (took []time.Duration, err error) {
	sink, err := kafka.NewProducer(k, topic)
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	for end := time.Now().Add(b.Measure); time.Now().Before(end); {
		began := time.Now()
		name := fmt.Sprintf("probe-%d", began.UnixNano())
		value, err := proto.Marshal(&eventspb.AdEvent{
			EventId: name, Account: name, Campaign: name, Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, PriceMicros: 1, Currency: "USD",
			EventMs: began.UnixMilli(),
		})
		if err != nil {
			return nil, err
		}
		p := events.Shard(name, events.DefaultShards)
		if err := sink.Produce(ctx, p, []byte(name), value); err != nil {
			return nil, err
		}
		if err := visible(ctx, rt, p, spendcounter.CampaignPrefix(name, name)); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		pause.Poll(ctx)
	}
	return took, nil
}

// visible waits until the partition's committed state has a key with the prefix.
func visible(ctx context.Context, rt *processors.Runtime, p int32, prefix []byte) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		snap, err := rt.Snapshot()
		if err != nil {
			return err
		}
		found := false
		err = snap.Scan(p, spendcounter.TableSpend, prefix, func(_, _ []byte) error { found = true; return nil })
		if err = errors.Join(err, snap.Close()); err != nil || found {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/events/loadgen"
)

const (
	// produceInterval is the time between two groups of records.
	produceInterval = 5 * time.Millisecond
	// arrivalLimit is how long the first copy may take, and how long copies may arrive after the
	// last record was produced.
	arrivalLimit = 2 * time.Minute
	// rateShare is the share of the rate that must have been produced.
	rateShare = 0.95
)

// live measures the time from a record's timestamp until a consumer with read_committed has its
// copy, while records are produced at a fixed rate. The measurement begins after a warm-up, which
// begins with the first copy.
type live struct {
	bench *bench
	rate  int64
	began chan window // from the consumer to the producer
	ended chan int64  // from the producer to the consumer: the number of records in the window
	latencies
}

// window is the range of timestamps that are measured, in Unix milliseconds.
type window struct{ from, end int64 }

func (w window) has(ms int64) bool { return ms >= w.from && ms < w.end }

// latency lets a system copy a log that grows at rate.
func (b *bench) latency(ctx context.Context, s system, rate int64) (got latency, err error) {
	dir, err := os.MkdirTemp(b.scratch, "live")
	if err != nil {
		return got, err
	}
	log := &setup{remove: func(ctx context.Context) error { return b.source.remove(ctx, liveLog.has) }}
	if err := log.remove(ctx); err != nil {
		return got, err
	}
	if err := broker.Create(ctx, b.source.Cluster, liveLog.topic(), partitions, nil); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, log.clean(), os.RemoveAll(dir)) }() //nolint:contextcheck // also after ctx
	copies, err := s.prepare(ctx, liveLog, dir)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, copies.clean()) }() //nolint:contextcheck // also after ctx
	p, err := copies.program.start()
	if err != nil {
		return got, err
	}
	l := &live{bench: b, rate: rate, began: make(chan window, 1), ended: make(chan int64, 1)}
	err = l.run(ctx, copies.copies)
	if err != nil {
		err = errors.Join(err, fmt.Errorf("the end of the output of %s:\n%s", s.name, p.tail()))
	}
	err = errors.Join(err, p.alive())
	return latency{l.quantile(0.5), l.quantile(0.99), l.quantile(1), p.stop()}, err
}

// run produces and consumes until the end of the measurement.
func (l *live) run(ctx context.Context, copies string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.produce(ctx) })
	g.Go(func() error { return l.consume(ctx, copies) })
	return g.Wait()
}

// produce produces records at the rate, until the end of the window.
func (l *live) produce(ctx context.Context) error {
	cl, err := l.bench.source.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(produceInterval),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(1<<18))
	if err != nil {
		return err
	}
	defer cl.Close()
	gen, err := loadgen.NewBench(loadgen.BenchConfig{})
	if err != nil {
		return err
	}
	pacer, err := loadgen.NewPacer(l.rate)
	if err != nil {
		return err
	}
	var w window
	measured, first := int64(0), kgo.AbortingFirstErrPromise(cl)
	tick := time.NewTicker(produceInterval)
	defer tick.Stop()
	limit := time.NewTimer(arrivalLimit)
	defer limit.Stop()
	for w.end == 0 || time.Now().UnixMilli() < w.end {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("no copy arrived within %s", arrivalLimit)
		case w = <-l.began:
			limit.Stop()
		case <-tick.C:
		}
		now := time.Now()
		due := pacer.Take(now)
		for range due {
			_, r := gen.Append(nil)
			cl.Produce(ctx, &kgo.Record{
				Topic: liveLog.topic(), Partition: r.Partition, Key: append([]byte(nil), r.Key...), Value: r.Value, Timestamp: now,
			}, first.Promise())
		}
		if w.has(now.UnixMilli()) {
			measured += int64(due)
		}
	}
	l.ended <- measured
	if want := float64(l.rate) * l.bench.duration.Seconds(); float64(measured) < rateShare*want {
		return fmt.Errorf("only %d of %.0f records could be produced in time: lower -rate", measured, want)
	}
	return errors.Join(cl.Flush(ctx), first.Err())
}

// consume takes the time of each copy in the window, until all have arrived.
func (l *live) consume(ctx context.Context, copies string) error {
	cl, err := l.bench.target.Client(kgo.ConsumeTopics(copies), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer cl.Close()
	var w window
	var ended <-chan time.Time
	for want := int64(-1); want < 0 || l.n < want; {
		select {
		case <-ended:
			return fmt.Errorf("the copier does not keep up: %d of %d copies arrived within %s after the last record",
				l.n, want, arrivalLimit)
		case want = <-l.ended:
			ended = time.After(arrivalLimit)
		default:
		}
		poll, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := cl.PollFetches(poll)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("read %s: %w", copies, err)
		}
		now := time.Now()
		if w.end == 0 && fetches.NumRecords() > 0 {
			from := now.Add(l.bench.warmup)
			w = window{from.UnixMilli(), from.Add(l.bench.duration).UnixMilli()}
			l.began <- w
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if w.has(r.Timestamp.UnixMilli()) {
				l.add(now.Sub(r.Timestamp))
			}
		})
	}
	return nil
}

package integration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
)

// load produces plausible events at a rate, idempotently, and records each in a ledger before it is
// sent.
type load struct {
	t      *testing.T
	ledger *ledger
	client *kgo.Client
	gen    *loadgen.Generator
	pacer  *loadgen.Pacer

	enough func() // ends the load once least events are produced
	least  int64
	ended  chan struct{}
	err    error // valid once ended is closed
}

// startLoad produces rate events per second, at least least events, until finish is called.
func startLoad(c *cluster, seed uint64, rate, least int64) *load {
	c.t.Helper()
	return startLoadOf(c, loadgen.Config{Seed: seed, StartMs: time.Now().UnixMilli(), DuplicateRate: 0.01, Flat: true}, rate, least)
}

// startLoadOf is startLoad with another generator.
func startLoadOf(c *cluster, cfg loadgen.Config, rate, least int64) *load {
	c.t.Helper()
	gen, err := loadgen.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	pacer, err := loadgen.NewPacer(rate)
	if err != nil {
		c.t.Fatal(err)
	}
	stop := make(chan struct{})
	l := &load{
		t: c.t, ledger: newLedger(), gen: gen, pacer: pacer, least: least,
		enough: sync.OnceFunc(func() { close(stop) }), ended: make(chan struct{}),
		client: c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.ProducerLinger(5*time.Millisecond)),
	}
	ctx := c.t.Context()
	go func() {
		defer close(l.ended)
		l.err = l.run(ctx, stop)
	}()
	c.t.Cleanup(func() { <-l.ended }) // its context has ended by then
	return l
}

func (l *load) run(ctx context.Context, stop <-chan struct{}) error {
	first := kgo.AbortingFirstErrPromise(l.client)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	made, stopped := int64(0), false
	for made < l.least || !stopped {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			stop, stopped = nil, true
		case now := <-tick.C:
			for _, r := range l.gen.Heartbeats(now.UnixMilli()) {
				l.produce(ctx, first, r.Partition, nil, r.Value)
			}
			for range l.pacer.Take(now) {
				e := l.gen.Next(now.UnixMilli())
				if made++; e == nil { // no campaign takes part
					continue
				}
				l.ledger.add(e)
				l.produce(ctx, first, events.Shard(e.Account, events.DefaultShards), []byte(e.Account), events.AppendEvent(nil, e))
			}
		}
	}
	return errors.Join(l.client.Flush(ctx), first.Err())
}

func (l *load) produce(ctx context.Context, first *kgo.FirstErrPromise, p int32, key, value []byte) {
	l.client.Produce(ctx, &kgo.Record{Topic: events.EventsTopic, Partition: p, Key: key, Value: value}, first.Promise())
}

// finish waits until least events are produced and Kafka has acknowledged all.
func (l *load) finish() *ledger {
	l.t.Helper()
	l.enough()
	testlimit.Receive(l.t, "the end of the load", l.ended)
	if l.err != nil {
		l.t.Fatalf("the load failed, so the ledger is invalid: %v", l.err)
	}
	return l.ledger
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Result is one timed run.
type Result struct {
	Name   string        `json:"name"`
	Events int64         `json:"events"` // timed events
	Took   time.Duration `json:"took_ns"`
	PerSec float64       `json:"events_per_second"`
}

func result(name string, events int64, took time.Duration) Result {
	return Result{Name: name, Events: events, Took: took, PerSec: float64(events) / took.Seconds()}
}

// Record is a record to write.
type Record struct {
	Partition          int32
	Key, Value, Origin []byte // Origin is the value of events.OriginHeader; nil: not a copy
}

// Source returns the next record at each call. Its bytes are valid until the next call.
type Source func() Record

// Load fills a topic with n records, unless the topic has that many: some benchmarks append to
// their log.
func Load(ctx context.Context, k kafka.Cluster, topic string, n int64, src Source) error {
	cl, err := k.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchMaxBytes(1<<20),
		kgo.MaxBufferedRecords(1<<18), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := admin{kadm.NewClient(cl)}
	if have, err := adm.written(ctx, topic); err == nil {
		if have >= n {
			return nil
		}
		return fmt.Errorf("topic %s holds %d records, not %d: delete it or choose another name", topic, have, n)
	}
	if err := adm.create(ctx, topic, 24, nil); err != nil {
		return err
	}
	first := kgo.AbortingFirstErrPromise(cl)
	var slab []byte
	for range n {
		r := src()
		if cap(slab)-len(slab) < len(r.Key)+len(r.Value)+len(r.Origin) {
			slab = make([]byte, 0, 1<<20)
		}
		keep := func(b []byte) []byte {
			at := len(slab)
			slab = append(slab, b...)
			return slab[at:len(slab):len(slab)]
		}
		out := &kgo.Record{Topic: topic, Partition: r.Partition, Key: keep(r.Key), Value: keep(r.Value)}
		if r.Origin != nil {
			out.Headers = []kgo.RecordHeader{{Key: events.OriginHeader, Value: keep(r.Origin)}}
		}
		cl.Produce(ctx, out, first.Promise())
	}
	return errors.Join(cl.Flush(ctx), first.Err())
}

// written returns the number of records that were written to a topic, transaction markers included.
func (adm admin) written(ctx context.Context, topic string) (n int64, err error) {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n, err
}

// Create creates a topic with one replica. An existing topic is kept.
func Create(ctx context.Context, k kafka.Cluster, topic string, partitions int32, config map[string]*string) error {
	cl, err := k.Client()
	if err != nil {
		return err
	}
	defer cl.Close()
	return admin{kadm.NewClient(cl)}.create(ctx, topic, partitions, config)
}

// admin administrates the topics of a run over one client.
type admin struct{ *kadm.Client }

// create is Create.
func (adm admin) create(ctx context.Context, topic string, partitions int32, config map[string]*string) error {
	if _, err := adm.CreateTopic(ctx, partitions, 1, config, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	for ctx.Err() == nil { // a new topic is in the brokers' metadata after a short time
		if list, err := adm.ListTopics(kafka.Uncached(ctx), topic); err == nil && list.Error() == nil && list.Has(topic) {
			return nil
		}
		pause.Poll(ctx)
	}
	return ctx.Err()
}

// BareConsumer reads the topic as a member of a group with read_committed and discards the records.
func BareConsumer(ctx context.Context, k kafka.Cluster, topic string, n int64) (Result, error) {
	cl, err := k.Client(kgo.ConsumerGroup(fmt.Sprintf("bare-%d", time.Now().UnixNano())), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(64<<20), kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return Result{}, err
	}
	defer cl.Close()
	var seen, base int64
	var began time.Time
	for seen < n {
		fetches := cl.PollRecords(ctx, 20_000)
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		seen += int64(fetches.NumRecords())
		if began.IsZero() && seen >= n/4 {
			began, base = time.Now(), seen
		}
	}
	return result("bare consumer", seen-base, time.Since(began)), nil
}

// Fold runs the processor over the topic from the start into an empty store, until n records are
// committed and applied. The time begins after the first from records. The inputs must have no
// further records.
func Fold(ctx context.Context, cfg processors.Config, proc stream.Processor, from, n int64) (res Result, err error) {
	topics, err := isolate(ctx, cfg.Kafka, &proc)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, topics.remove(ctx)) }()
	dir, err := os.MkdirTemp("", "weir-bench")
	if err != nil {
		return Result{}, err
	}
	cfg.Dir = dir
	rt, err := processors.New(cfg, proc)
	if err != nil {
		return Result{}, err
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- rt.Run(run) }()
	res, err = watch(done, rt, from, n)
	stop()
	err = errors.Join(err, <-done, os.RemoveAll(dir))
	if err == nil {
		err = topics.checkRejects(ctx, proc.DLQ)
	}
	return res, err
}

// watch measures the time between from and n applied records.
func watch(done chan error, rt *processors.Runtime, from, n int64) (Result, error) {
	var began time.Time
	var base int64
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			done <- nil
			return Result{}, errors.Join(errors.New("the processor ended before the end of the log"), err)
		case <-tick.C:
		}
		seen := Applied(rt)
		if began.IsZero() && seen >= from {
			began, base = time.Now(), seen
		}
		if seen >= n {
			return result("exactly once", seen-base, time.Since(began)), nil
		}
	}
}

// Applied returns the number of input records that the processor has folded and applied.
func Applied(rt *processors.Runtime) (n int64) {
	for _, s := range rt.Status() {
		for _, next := range s.Next {
			n += next
		}
	}
	return n
}

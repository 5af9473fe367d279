package processors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// finish compares what the log and the group say, and makes the handler. A few partitions of a process do so at a time.
func (r *restorer) finish(f *facts) (*restored, error) {
	if !r.w.store.enter(r.ctx.Done()) {
		return nil, r.ctx.Err()
	}
	defer r.w.store.leave()
	meta := r.replay.meta
	res := &restored{meta: meta, ids: f.ids, own: meta.GetMarker().GetOwnerEpoch() + 1}
	if err := r.compare(f, res); err != nil {
		return nil, err
	}
	return res, r.revive(res)
}

// revive makes the handler and rebuilds what only its memory holds.
func (r *restorer) revive(res *restored) (err error) {
	res.timers = newTimers(r.p, r.w.store.db)
	v := revival{
		kafka: r.w.cfg.Kafka, proc: r.w.proc, log: r.w.log, db: r.w.store.db, start: res.start,
		task: stream.Task{Partition: r.p, OwnerEpoch: res.own, Next: res.next, Timers: res.timers},
	}
	if res.meta.Local != nil {
		v.task.LocalNext = positions(res.meta.Local)
	}
	res.later = &v.later
	if res.handler, err = v.handler(r.ctx); err != nil {
		return err
	}
	if _, timed := res.handler.(stream.TimerHandler); !timed {
		res.timers.off()
	}
	return nil
}

// revival makes a handler from committed state.
type revival struct {
	kafka Kafka
	proc  *stream.Processor
	log   zerolog.Logger
	db    pebble.Reader
	task  stream.Task      // its Get and Scan are set here, its Timers by who needs them
	start map[string]int64 // first offset that an input still has
	later later
}

func (v *revival) handler(ctx context.Context) (h stream.Handler, err error) {
	p := v.task.Partition
	var made stream.Handler
	defer func() {
		if err != nil {
			closeHandler(made)
		}
	}()
	defer func() {
		if e := recover(); e != nil {
			err = stopped(p, fmt.Errorf("the handler panicked while it took over: %v", e))
		}
	}()
	v.task.Get = func(table byte, key []byte) ([]byte, error) {
		k := storeKey(p, table, key)
		if value, known := v.later.get(k); known {
			return value, nil
		}
		return get(v.db, k)
	}
	v.task.Scan = func(table byte, prefix []byte, fn func(k, v []byte) error) error {
		return v.later.scan(v.db, storeKey(p, table, prefix), fn)
	}
	if h, err = v.proc.New(v.task); err != nil {
		return nil, taskFailed(p, fmt.Errorf("make its handler: %w", err))
	}
	made = h
	warm, ok := h.(stream.Rebuilder)
	if !ok {
		return h, nil
	}
	for topic, from := range warm.RebuildFrom() {
		if start := v.start[topic]; from < start && from < v.task.Next[topic] {
			// Retention has taken the beginning: what only it held is not known any more.
			v.log.Warn().Int32("partition", p).Str("topic", topic).Int64("from", from).Int64("log_start", start).Msg("warm_range_cut")
			from = start
		}
		if err := v.warm(ctx, warm, logPosition{topic: topic, partition: p, offset: from}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// warm reads an input again, up to where the state is.
func (v *revival) warm(ctx context.Context, h stream.Rebuilder, from logPosition) error {
	p, next := v.task.Partition, v.task.Next[from.topic]
	if from.offset >= next {
		return nil
	}
	at := from.offset
	var recs []*kgo.Record
	give := func() error {
		b := &stream.Batch{Topic: from.topic, Partition: p, NowMs: time.Now().UnixMilli()}
		b.Records, at = toRecords(recs, offsetRange{next: at, end: math.MaxInt64}, nil)
		recs = recs[:0]
		if len(b.Records) == 0 {
			return nil
		}
		if err := h.Rebuild(b); err != nil {
			return taskFailed(p, fmt.Errorf("warm its handler: %w", err))
		}
		return nil
	}
	err := readFrom(ctx, v.kafka, from, func(rec *kgo.Record) error {
		if rec.Offset >= next {
			return errBarrier
		}
		if recs = append(recs, rec); len(recs) >= 4096 {
			if err := give(); err != nil {
				return err
			}
		}
		if rec.Offset+1 >= next {
			return errBarrier
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %s[%d] again from %d: %w", from.topic, p, from.offset, err)
	}
	return give()
}

// logReader is a client that reads partitions of a topic from where it is told: committed records and control records.
func logReader(k Kafka, topic string, at map[int32]kgo.Offset, opts ...kgo.Opt) (*kgo.Client, error) {
	cl, err := k.Client(append([]kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return cl, nil
}

// logPosition is a place in a partition.
type logPosition struct {
	topic     string
	partition int32
	offset    int64
}

// readFrom reads one partition, committed records and control records, until fn returns errBarrier or an error.
func readFrom(ctx context.Context, k Kafka, from logPosition, fn func(*kgo.Record) error) error {
	cl, err := logReader(k, from.topic, map[int32]kgo.Offset{from.partition: kgo.NewOffset().At(from.offset)},
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollRecords(ctx, 10_000)
		for _, e := range fetches.Errors() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if StopsPartition(e.Err) {
				return e.Err
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := fn(it.Next()); errors.Is(err, errBarrier) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

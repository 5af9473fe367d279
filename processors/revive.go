package processors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// finish compares what the log and the group say, and makes the handler. A few partitions of a process do so at a time.
func (r *restorer) finish(f *facts) (*restored, error) {
	select {
	case r.w.store.slots <- struct{}{}:
		defer func() { <-r.w.store.slots }()
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
	meta := r.replay.meta
	res := &restored{meta: meta, ids: f.ids, own: meta.GetMarker().GetOwnerEpoch() + 1}
	if err := r.compare(f, res); err != nil {
		return nil, err
	}
	return res, r.revive(res)
}

// revive makes the handler and rebuilds what only its memory holds.
func (r *restorer) revive(res *restored) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.stop(fmt.Errorf("the handler panicked while it took over: %v", v))
		}
	}()
	db := r.w.store.db
	task := Task{Partition: r.p, OwnerEpoch: res.own, Next: res.next}
	if res.meta.Local != nil {
		task.LocalNext = positions(res.meta.Local)
	}
	task.Get = func(table byte, key []byte) ([]byte, error) { return get(db, storeKey(r.p, table, key)) }
	task.Scan = func(table byte, prefix []byte, fn func(k, v []byte) error) error {
		return scan(db, storeKey(r.p, table, prefix), fn)
	}
	res.timers = newTimers(r.p, db)
	task.Timers = res.timers
	if res.handler, err = r.w.proc.New(task); err != nil {
		return &taskError{r.p, fmt.Errorf("make its handler: %w", err)}
	}
	if _, timed := res.handler.(Timed); !timed {
		res.timers.off()
	}
	warm, ok := res.handler.(Warmer)
	if !ok {
		return nil
	}
	for topic, from := range warm.WarmFrom() {
		if start := res.start[topic]; from < start && from < res.next[topic] {
			// Retention has taken the beginning: what only it held is not known any more.
			r.w.log.Warn().Int32("partition", r.p).Str("topic", topic).Int64("from", from).Int64("log_start", start).Msg("warm_range_cut")
			from = start
		}
		if err := r.warm(r.ctx, warm, place{topic, from}, res.next[topic]); err != nil {
			return err
		}
	}
	return nil
}

// warm reads an input again, up to where the state is.
func (r *restorer) warm(ctx context.Context, h Warmer, from place, next int64) error {
	if from.offset >= next {
		return nil
	}
	t := &task{p: r.p, next: map[string]int64{from.topic: from.offset}}
	var recs []*kgo.Record
	give := func() error {
		b := &Batch{Topic: from.topic, Partition: r.p, Records: t.take(from.topic, recs, nil), NowMs: time.Now().UnixMilli()}
		recs = recs[:0]
		if len(b.Records) == 0 {
			return nil
		}
		if err := h.Warm(b); err != nil {
			return &taskError{r.p, fmt.Errorf("warm its handler: %w", err)}
		}
		return nil
	}
	err := readFrom(ctx, r.w.cfg.Kafka, from, r.p, func(rec *kgo.Record) error {
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
		return fmt.Errorf("read %s[%d] again from %d: %w", from.topic, r.p, from.offset, err)
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

// readFrom reads one partition, committed records and control records, until fn returns errBarrier or an error.
func readFrom(ctx context.Context, k Kafka, from place, p int32, fn func(*kgo.Record) error) error {
	cl, err := logReader(k, from.topic, map[int32]kgo.Offset{p: kgo.NewOffset().At(from.offset)},
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
			if stopsPartition(e.Err) {
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

// explain says what a fetch error means and what can be done.
func (w *worker) explain(ctx context.Context, topic string, p int32, cause error) error {
	t := w.tasks[p]
	gap := ""
	if plain, err := w.cfg.Kafka.Client(kgo.RetryTimeout(2 * time.Second)); err == nil {
		defer plain.Close()
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if starts, err := kadm.NewClient(plain).ListStartOffsets(ctx, topic); err == nil {
			if s, ok := starts.Lookup(topic, p); ok && s.Err == nil && s.Offset > t.next[topic] {
				gap = fmt.Sprintf("; offsets %d to %d are gone: %d records", t.next[topic], s.Offset-1, s.Offset-t.next[topic])
			}
		}
	}
	return fmt.Errorf("%s[%d] cannot be read at offset %d%s: %w. Nothing was skipped; the other partitions go on", topic, p, t.next[topic], gap, cause)
}

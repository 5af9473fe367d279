package handler

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Builder makes the handler of a task from committed state.
type Builder struct {
	Kafka       kafka.Cluster
	Proc        *stream.Processor
	Log         zerolog.Logger
	DB          pebble.Reader
	Task        stream.Task      // Build sets Get, MultiGet, Scan and Range; the caller sets Timers and Wake if they are needed
	InputStarts map[string]int64 // first offset that each input still has
	Skips       changelog.Skips  // ranges of the inputs that are not in the state
	Buffer      store.WriteBuffer
	Cancelled   context.Context // ends the reads of a handler that is being made; nil if nothing does
}

// Build makes the handler. A handler that is a stream.Rebuilder reads its inputs again.
func (v *Builder) Build(ctx context.Context) (h stream.Handler, err error) {
	var made stream.Handler
	defer func() {
		if err != nil {
			Close(made)
		}
	}()
	defer v.recoverPanic(&err)
	if made, err = v.make(); err != nil {
		return nil, err
	}
	if rebuilder, ok := made.(stream.Rebuilder); ok {
		if err := v.rebuildAll(ctx, rebuilder); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (v *Builder) recoverPanic(err *error) {
	if e := recover(); e != nil {
		*err = changelog.Stopped(v.Task.Partition, fmt.Errorf("the handler panicked during its takeover: %v", e))
	}
}

// make calls Processor.New.
func (v *Builder) make() (stream.Handler, error) {
	p := v.Task.Partition
	if v.Task.Wake == nil {
		v.Task.Wake = func() {} // the handler is made to inspect state, or is a standby's
	}
	v.Task.Log = slog.New(zerolog.NewSlogHandler(v.Log)).With("partition", p)
	v.Task.Get = func(table byte, key []byte) ([]byte, error) {
		if err := v.cancelled(); err != nil {
			return nil, err
		}
		k := store.Key(p, table, key)
		if value, known := v.Buffer.Get(k); known {
			return value, nil
		}
		return store.Get(v.DB, k)
	}
	v.Task.MultiGet = func(table byte, keys [][]byte, fn func(i int, value []byte) error) error {
		return v.Buffer.MultiGet(v.DB, store.Key(p, table, nil), keys, fn)
	}
	v.Task.Scan = func(table byte, prefix []byte, fn func(k, v []byte) error) error {
		return v.Buffer.Scan(v.DB, store.Key(p, table, prefix), v.untilCancelled(fn))
	}
	v.Task.Range = func(table byte, from, to []byte, fn func(k, v []byte) error) error {
		lower, upper := store.Key(p, table, from), stream.PrefixEnd(store.Key(p, table, nil))
		if to != nil {
			upper = store.Key(p, table, to)
		}
		if upper != nil && bytes.Compare(lower, upper) >= 0 {
			return nil
		}
		return v.Buffer.ScanRange(v.DB, lower, upper, v.untilCancelled(fn))
	}
	h, err := v.Proc.New(v.Task)
	if err != nil {
		return nil, NewError(p, fmt.Errorf("create its handler: %w", err))
	}
	return h, nil
}

func (v *Builder) cancelled() error {
	if v.Cancelled == nil {
		return nil
	}
	return v.Cancelled.Err()
}

// untilCancelled returns fn, or while the handler is being made, an fn that ends with Cancelled.
func (v *Builder) untilCancelled(fn func(k, v []byte) error) func(k, v []byte) error {
	if v.Cancelled == nil {
		return fn
	}
	return func(key, value []byte) error {
		if err := v.cancelled(); err != nil {
			return err
		}
		return fn(key, value)
	}
}

// rebuildAll gives the inputs from RebuildFrom on to h.
func (v *Builder) rebuildAll(ctx context.Context, rebuilder stream.Rebuilder) error {
	p := v.Task.Partition
	for topic, from := range rebuilder.RebuildFrom() {
		if start := v.InputStarts[topic]; from < start && from < v.Task.Next[topic] {
			// Retention deleted the first records of the range. What only they held is lost.
			v.Log.Warn().Int32("partition", p).Str("topic", topic).Int64("from", from).Int64("log_start", start).
				Msg("rebuild_range_trimmed")
			from = start
		}
		for at := v.Skips.Past(topic, from); at < v.Task.Next[topic]; { // without the skipped ranges
			next := v.Skips.Until(topic, at, v.Task.Next[topic])
			if err := v.rebuild(ctx, rebuilder, kafka.Position{Topic: topic, Partition: p, Offset: at}, next); err != nil {
				return err
			}
			at = v.Skips.Past(topic, next)
		}
	}
	return nil
}

// rebuild gives the records of an input below the offset next to h again.
func (v *Builder) rebuild(ctx context.Context, h stream.Rebuilder, from kafka.Position, next int64) error {
	p, at := v.Task.Partition, from.Offset
	var recs []*kgo.Record
	flush := func() error {
		b := &stream.Batch{Topic: from.Topic, Partition: p, NowMs: time.Now().UnixMilli()}
		b.Records, at = Records(recs, OffsetRange{Next: at, End: math.MaxInt64}, nil)
		recs = recs[:0]
		if len(b.Records) == 0 {
			return nil
		}
		if err := h.Rebuild(b); err != nil {
			return NewError(p, fmt.Errorf("rebuild its handler: %w", err))
		}
		return nil
	}
	err := changelog.ReadPartition(ctx, v.Kafka, from, func(rec *kgo.Record) error {
		if rec.Offset >= next {
			return changelog.ErrEnd
		}
		if recs = append(recs, rec); len(recs) >= 4096 {
			if err := flush(); err != nil {
				return err
			}
		}
		if rec.Offset+1 >= next {
			return changelog.ErrEnd
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %s[%d] again from %d: %w", from.Topic, p, from.Offset, err)
	}
	return flush()
}

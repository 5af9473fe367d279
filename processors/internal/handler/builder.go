package handler

import (
	"bytes"
	"context"
	"fmt"
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
	Task        stream.Task      // Build sets Get, Scan and Range; the caller sets Timers if they are needed
	InputStarts map[string]int64 // first offset that each input still has
	Buffer      store.WriteBuffer
}

// Build makes the handler. A handler that is a stream.Rebuilder reads its inputs again.
func (v *Builder) Build(ctx context.Context) (h stream.Handler, err error) {
	p := v.Task.Partition
	var made stream.Handler
	defer func() {
		if err != nil {
			Close(made)
		}
	}()
	defer func() {
		if e := recover(); e != nil {
			err = changelog.Stopped(p, fmt.Errorf("the handler panicked during its takeover: %v", e))
		}
	}()
	v.Task.Get = func(table byte, key []byte) ([]byte, error) {
		k := store.Key(p, table, key)
		if value, known := v.Buffer.Get(k); known {
			return value, nil
		}
		return store.Get(v.DB, k)
	}
	v.Task.Scan = func(table byte, prefix []byte, fn func(k, v []byte) error) error {
		return v.Buffer.Scan(v.DB, store.Key(p, table, prefix), fn)
	}
	v.Task.Range = func(table byte, from, to []byte, fn func(k, v []byte) error) error {
		lower, upper := store.Key(p, table, from), stream.PrefixEnd(store.Key(p, table, nil))
		if to != nil {
			upper = store.Key(p, table, to)
		}
		if upper != nil && bytes.Compare(lower, upper) >= 0 {
			return nil
		}
		return v.Buffer.ScanRange(v.DB, lower, upper, fn)
	}
	if h, err = v.Proc.New(v.Task); err != nil {
		return nil, NewError(p, fmt.Errorf("create its handler: %w", err))
	}
	made = h
	rebuilder, ok := h.(stream.Rebuilder)
	if !ok {
		return h, nil
	}
	for topic, from := range rebuilder.RebuildFrom() {
		if start := v.InputStarts[topic]; from < start && from < v.Task.Next[topic] {
			// Retention deleted the first records of the range. What only they held is lost.
			v.Log.Warn().Int32("partition", p).Str("topic", topic).Int64("from", from).Int64("log_start", start).Msg("rebuild_range_trimmed")
			from = start
		}
		if err := v.rebuild(ctx, rebuilder, changelog.Position{Topic: topic, Partition: p, Offset: from}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// rebuild gives the records of an input to h again, up to the offset that the state includes.
func (v *Builder) rebuild(ctx context.Context, h stream.Rebuilder, from changelog.Position) error {
	p, next := v.Task.Partition, v.Task.Next[from.Topic]
	if from.Offset >= next {
		return nil
	}
	at := from.Offset
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

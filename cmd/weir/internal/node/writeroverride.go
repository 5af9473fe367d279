package node

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/override"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// servedWriters returns the datacentres whose parameters the spend caches of this one can serve:
// this one, and those of otherPacing.
func servedWriters(c *config.Config) []string {
	list := []string{c.DC}
	for _, d := range c.PushTargets() {
		list = append(list, d.Name)
	}
	return list
}

// lastWriter is the last override of the writer. Its methods may be called concurrently.
type lastWriter struct {
	mu   sync.Mutex
	read *eventspb.WriterOverride // nil: none
	held *eventspb.WriterOverride // read, not longer than a day from when it was read first
}

// take takes an override, and returns it as it holds; nil if it is the last one already.
func (l *lastWriter) take(w *eventspb.WriterOverride) *eventspb.WriterOverride {
	l.mu.Lock()
	defer l.mu.Unlock()
	if proto.Equal(w, l.read) { // the topic may be read again
		return nil
	}
	l.read, l.held = w, proto.CloneOf(w)
	l.held.UntilMs = atMost(w.GetUntilMs()).UnixMilli()
	return l.held
}

// inForce returns the override that holds at a time, nil for none.
func (l *lastWriter) inForce(at time.Time) *eventspb.WriterOverride {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil || !override.InForce(l.held, at) {
		return nil
	}
	return l.held
}

// writerOverride follows the override of the writer, for the spend cache.
type writerOverride struct {
	kafka kafka.Cluster
	topic string
	log   zerolog.Logger
	last  lastWriter
}

func newWriterOverride(k kafka.Cluster, l events.Layout, log zerolog.Logger) *writerOverride {
	return &writerOverride{kafka: k, topic: l.Name(events.PacingOverridesTopic), log: log}
}

// run follows the topic until ctx ends. After an error it reads the topic from the start.
func (w *writerOverride) run(ctx context.Context) {
	var failed minute
	for ctx.Err() == nil {
		if err := w.follow(ctx); err != nil && ctx.Err() == nil && failed.first() {
			w.log.Warn().Err(err).Msg("overrides_unread")
		}
		pause.For(ctx, time.Second)
	}
}

// follow reads the topic from the start. Up to its end only the last override counts.
func (w *writerOverride) follow(ctx context.Context) error {
	var last *eventspb.WriterOverride
	atEnd := false
	record := func(r *stream.Record) {
		// The role pacing reports what cannot be decoded.
		if o, err := override.Writers().Decode(r.Key, r.Value); o != nil && err == nil {
			if last = o; atEnd {
				w.last.take(o)
			}
		}
	}
	end := func() {
		if atEnd = true; last != nil {
			w.last.take(last)
		}
	}
	return kafka.TopicReader{Kafka: w.kafka, Topic: w.topic, Record: record, AtEnd: end}.Run(ctx)
}

// writer implements spendcache.Config.Writer.
func (w *writerOverride) writer(now time.Time) string { return w.last.inForce(now).GetWriter() }

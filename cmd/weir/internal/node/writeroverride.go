package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

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

// writerOverride follows the override of the writer, for the spend cache.
type writerOverride struct {
	kafka kafka.Cluster
	topic string
	log   zerolog.Logger
	last  atomic.Pointer[eventspb.WriterOverride] // nil: none
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
				w.last.Store(o)
			}
		}
	}
	end := func() {
		atEnd = true
		w.last.Store(last)
	}
	return kafka.TopicReader{Kafka: w.kafka, Topic: w.topic, Record: record, AtEnd: end}.Run(ctx)
}

// writer implements spendcache.Config.Writer.
func (w *writerOverride) writer(now time.Time) string {
	if o := w.last.Load(); o != nil && override.InForce(o, now) && now.Before(atMost(o.GetUntilMs())) {
		return o.GetWriter()
	}
	return ""
}

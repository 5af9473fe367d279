package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
)

// copyChangelog copies the state of every partition from the changelog into a new database at dir,
// up to a barrier of its own: every committed transaction. The exclusive member keeps owners from
// writing more.
func (h *exclusiveMember) copyChangelog(ctx context.Context, dir string) (state *store.Offline, err error) {
	tokens, err := h.barriers(ctx)
	if err != nil {
		return nil, err
	}
	if state, err = store.CreateOffline(databaseOf(h.cfg), h.proc.App, dir); err != nil {
		return nil, err
	}
	c := &changelogCopy{h: h, dst: state, tokens: tokens, batch: state.DB.NewBatch(), metas: map[int32]*changelogpb.TaskMeta{}}
	err = errors.Join(c.read(ctx), c.batch.Close())
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return state, nil
}

// changelogCopy is a copy in progress. It is not used before it is complete, so its batches need
// not end with transactions.
type changelogCopy struct {
	h      *exclusiveMember
	dst    *store.Offline
	tokens map[int32]string
	batch  *pebble.Batch
	metas  map[int32]*changelogpb.TaskMeta // of partitions that are not copied to the end
}

func (c *changelogCopy) read(ctx context.Context) error {
	topic, at := c.h.proc.Changelog, map[int32]kgo.Offset{}
	for p := range c.h.partitions {
		at[p] = kgo.NewOffset().AtStart()
		c.metas[p] = store.NewMeta(c.h.proc.App)
		c.metas[p].ChangelogTopic, c.metas[p].ChangelogTopicId = topic, c.h.ids[topic]
	}
	cl, err := changelog.NewReader(c.h.cfg.Kafka, topic, at, kgo.FetchMaxBytes(c.h.cfg.FetchBytes), kgo.FetchMaxWait(250*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(c.metas) > 0 {
		fetches, unreadable := cl.Poll(ctx, 10_000)
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(unreadable) > 0 {
			return c.refused(unreadable)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := c.apply(it.Next()); err != nil {
				return err
			}
		}
		if c.batch.Len() < changelog.MaxBatchBytes && len(c.metas) > 0 {
			continue
		}
		if err := c.batch.Commit(pebble.NoSync); err != nil {
			return fmt.Errorf("write the copy of %s: %w", topic, err)
		}
		if err := c.batch.Close(); err != nil {
			return err
		}
		c.batch = c.dst.DB.NewBatch()
	}
	return nil
}

// refused returns the error of partitions that cannot be read: that of the least one. A missing
// right is one of the topic. Its error names the least partition that is not copied, because
// another broker may not have answered yet.
func (c *changelogCopy) refused(unreadable map[int32]error) error {
	topic, p := c.h.proc.Changelog, slices.Min(slices.Collect(maps.Keys(unreadable)))
	err := unreadable[p]
	switch {
	case kafka.Damaged(err):
		return &kafka.DamagedChangelogError{Topic: topic, Partition: p, Err: err}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		p = slices.Min(slices.Collect(maps.Keys(c.metas)))
	}
	return fmt.Errorf("read %s[%d]: %w", topic, p, err)
}

// apply applies one record.
func (c *changelogCopy) apply(rec *kgo.Record) error {
	meta := c.metas[rec.Partition]
	if meta == nil || rec.Attrs.IsControl() {
		return nil
	}
	if !changelogpb.IsSystem(rec.Key) {
		return changelog.ApplyRecord(c.batch, rec)
	}
	where := fmt.Sprintf("at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset)
	switch string(rec.Key[1:]) {
	case changelogpb.MarkerKey:
		m, err := changelogpb.Decode(rec.Value, &changelogpb.Marker{}, "marker "+where)
		meta.Marker, meta.ChangelogNext = m, rec.Offset+1
		return err
	case changelogpb.BarrierKey:
		b, err := changelogpb.Decode(rec.Value, &changelogpb.Barrier{}, "barrier "+where)
		if err != nil || b.Token != c.tokens[rec.Partition] {
			return err
		}
		delete(c.metas, rec.Partition)
		return store.PutMeta(c.batch, rec.Partition, meta)
	}
	return nil
}

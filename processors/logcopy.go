package processors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
)

// copyLog reads the changelog of every partition into a new database at dir, up to a barrier of the holder's: everything
// that was ever committed. The group being held, nothing more comes.
func (h *holder) copyLog(ctx context.Context, dir string) (pic *picture, err error) {
	tokens, err := h.barriers(ctx)
	if err != nil {
		return nil, err
	}
	if pic, err = newPicture(databaseOf(h.cfg), h.proc.App, dir); err != nil {
		return nil, err
	}
	c := &logCopy{h: h, pic: pic, tokens: tokens, batch: pic.db.NewBatch(), metas: map[int32]*changelogpb.TaskMeta{}}
	err = errors.Join(c.read(ctx), c.batch.Close())
	if err != nil {
		return nil, errors.Join(err, pic.close())
	}
	return pic, nil
}

// logCopy is a copy in the making. It is of no use before it is complete, so it needs no whole transactions on its way.
type logCopy struct {
	h      *holder
	pic    *picture
	tokens map[int32]string
	batch  *pebble.Batch
	metas  map[int32]*changelogpb.TaskMeta // of partitions that are not read to their end
}

func (c *logCopy) read(ctx context.Context) error {
	topic, at := c.h.proc.Changelog, map[int32]kgo.Offset{}
	for p := range c.h.n {
		at[p] = kgo.NewOffset().AtStart()
		c.metas[p] = newMeta(c.h.proc.App)
		c.metas[p].ChangelogTopic, c.metas[p].ChangelogTopicId = topic, c.h.ids[topic]
	}
	cl, err := logReader(c.h.cfg.Kafka, topic, at, kgo.FetchMaxBytes(c.h.cfg.FetchBytes), kgo.FetchMaxWait(250*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(c.metas) > 0 {
		fetches := cl.PollRecords(ctx, 10_000)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range fetches.Errors() {
			if StopsPartition(e.Err) {
				return fmt.Errorf("read %s[%d]: %w", topic, e.Partition, e.Err)
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := c.take(it.Next()); err != nil {
				return err
			}
		}
		if c.batch.Len() < maxReplay && len(c.metas) > 0 {
			continue
		}
		if err := c.batch.Commit(pebble.NoSync); err != nil {
			return fmt.Errorf("write copy of %s: %w", topic, err)
		}
		if err := c.batch.Close(); err != nil {
			return err
		}
		c.batch = c.pic.db.NewBatch()
	}
	return nil
}

func (c *logCopy) take(rec *kgo.Record) error {
	meta := c.metas[rec.Partition]
	if meta == nil || rec.Attrs.IsControl() {
		return nil
	}
	if !IsSystem(rec.Key) {
		return applyLogged(c.batch, rec)
	}
	where := fmt.Sprintf("at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset)
	switch string(rec.Key[1:]) {
	case markerKey:
		m, err := decode(rec.Value, &changelogpb.Marker{}, "marker "+where)
		meta.Marker, meta.ChangelogNext = m, rec.Offset+1
		return err
	case barrierKey:
		b, err := decode(rec.Value, &changelogpb.Barrier{}, "barrier "+where)
		if err != nil || b.Token != c.tokens[rec.Partition] {
			return err
		}
		delete(c.metas, rec.Partition)
		return putMeta(c.batch, rec.Partition, meta)
	}
	return nil
}

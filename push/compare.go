package push

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// comparison is what a task knows about both logs while it compares them.
type comparison struct {
	from  position         // where it begins to follow the dataset
	end   int64            // of the dataset, when newest was read
	last  map[string]int64 // offset of the newest record before end of each key that has a row
	extra map[string]bool  // keys of the copy that the dataset does not have
	began time.Time
}

// wants reports whether a record of the dataset goes into the copy. Before the end that is the
// newest record of its key: an older value would take the copy back.
func (c *comparison) wants(rec *logreader.Record) bool {
	if rec.Offset < c.end {
		return c.last[string(rec.Key)] == rec.Offset+1
	}
	c.last = nil
	delete(c.extra, string(rec.Key))
	return true
}

// begin begins a comparison: it reads both logs. The rows are written by follow, and the rows that
// only the copy has are deleted by finish. The order of the steps matters: each record of the copy
// was in the dataset before the dataset's end is asked for, because no other task can write to the
// copy any more.
func (p *pusher) begin(ctx context.Context, why string) error {
	p.mu.Lock()
	p.why = why
	p.mu.Unlock()
	if err := p.cfg.comparing.Acquire(ctx, 1); err != nil {
		return err //nolint:wrapcheck // it is the error of ctx
	}
	p.compare = &comparison{} // end releases it
	c, err := p.readBoth(ctx)
	if err != nil {
		return err
	}
	p.compare, p.known = c, false
	p.cfg.Metrics.comparisons.WithLabelValues(p.cfg.Target).Inc()
	p.log.Info().Str("why", why).Int("rows", len(c.last)).Int("extra", len(c.extra)).Msg("push_compares")
	var out stream.SourceBatch
	p.positions.Delete(&out, positionKey)
	return p.push(ctx, &out)
}

// readBoth reads the dataset and the copy up to their present ends.
func (p *pusher) readBoth(ctx context.Context) (*comparison, error) {
	id, copied, err := p.describe(ctx, p.cfg.Copies, p.cfg.Copy)
	if err != nil {
		return nil, err
	}
	_, dataset, err := p.describe(ctx, p.cfg.Source, p.cfg.Dataset)
	if err != nil {
		return nil, err
	}
	c := &comparison{end: dataset.End, last: map[string]int64{}, extra: map[string]bool{}, began: time.Now()}
	c.from.Position, c.from.Copy = logreader.Start(), id
	c.from.Topic, err = p.scan(ctx, upTo{p.cfg.Source, p.cfg.Dataset, dataset.End}, func(r *logreader.Record) {
		switch {
		case len(r.Key) == 0 || !slices.Contains(p.cfg.Tables, r.Key[0]):
		case r.Value == nil:
			delete(c.last, string(r.Key))
		default:
			c.last[string(r.Key)] = r.Offset + 1
		}
	})
	if err != nil {
		return nil, err
	}
	// Up to the end of all records: rows of a former owner, whose transaction is not decided yet.
	_, err = p.scan(ctx, upTo{p.cfg.Copies, p.cfg.Copy, copied.Written}, func(r *logreader.Record) {
		switch {
		case r.Value == nil:
			delete(c.extra, string(r.Key))
		case c.last[string(r.Key)] == 0:
			c.extra[string(r.Key)] = true
		}
	})
	return c, err
}

// finish hands out over, and then deletes the rows that only the copy has.
func (p *pusher) finish(ctx context.Context, out *stream.SourceBatch) error {
	for _, key := range slices.Sorted(maps.Keys(p.compare.extra)) {
		p.emit(out, logreader.Record{Key: []byte(key), TimeMs: time.Now().UnixMilli()})
		if out.Bytes() > batchBytes {
			if err := p.push(ctx, out); err != nil {
				return err
			}
			out = &stream.SourceBatch{}
		}
	}
	if err := p.push(ctx, out); err != nil {
		return err
	}
	p.log.Info().Int("deleted", len(p.compare.extra)).Dur("took_ms", time.Since(p.compare.began)).Msg("push_compared")
	p.end()
	return nil
}

// end ends a comparison.
func (p *pusher) end() {
	p.mu.Lock()
	p.why = ""
	p.mu.Unlock()
	if p.compare != nil {
		p.compare = nil
		p.cfg.comparing.Release(1)
	}
}

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
	from  position // where it begins to follow the dataset
	end   int64    // of the dataset, when last was read
	began time.Time
	// last has the offset of the newest record before end of each key, plus one; negative for a
	// tombstone. It has no health records. A key is removed when the record is read again, or a
	// newer one.
	last    map[string]int64
	extra   map[string]bool // keys of the copy that the dataset does not have
	health  map[string]bool // those of the health records of the copy
	changed bool            // the dataset is not what it was when last was read
}

// wants reports whether a record of the dataset goes into the copy. Before the end that is the
// newest record of its key: an older value would take the copy back.
func (c *comparison) wants(rec *logreader.Record) bool {
	if rec.Offset >= c.end {
		delete(c.last, string(rec.Key))
		delete(c.extra, string(rec.Key))
		return true
	}
	at := rec.Offset + 1
	switch newest := c.last[string(rec.Key)]; {
	case newest == at:
		delete(c.last, string(rec.Key))
		return true
	case max(newest, -newest) < at: // it was not there before
		c.changed = true
	}
	return false
}

// unread reports whether a row was not read again, and no newer record of its key either: the
// dataset has lost it.
func (c *comparison) unread() bool {
	for _, newest := range c.last {
		if newest > 0 {
			return true
		}
	}
	return false
}

// failed returns why the comparison has to begin again, or nothing.
func (c *comparison) failed(kept time.Duration) string {
	switch {
	case c.changed:
		return "the dataset has lost records while it was compared"
	case time.Since(c.began) > kept/2:
		return "the comparison took so long that tombstones may be gone"
	}
	return ""
}

// begin begins a comparison: it reads both logs. The rows are written by follow, and the rows that
// only the copy has are deleted by finish.
//
// The order of the steps matters. First the position is deleted, and with it all rows are committed
// that this task had handed over. A former owner of the partition cannot write any more, or has a
// transaction that is not decided. So each row that the copy will have from others is before the
// end of the copy that readBoth asks for, and each row that the dataset had is before that of the
// dataset.
func (p *pusher) begin(ctx context.Context, why string) error {
	p.mu.Lock()
	p.why = why
	p.mu.Unlock()
	p.known = false
	out := &stream.SourceBatch{}
	p.positions.Delete(out, positionKey)
	if err := p.settle(ctx, out); err != nil {
		return err
	}
	if err := p.cfg.comparing.Acquire(ctx, 1); err != nil {
		return err //nolint:wrapcheck // it is the error of ctx
	}
	p.compare = &comparison{} // end releases it
	c, err := p.readBoth(ctx)
	if err != nil {
		return err
	}
	p.compare = c
	p.cfg.Metrics.comparisons.WithLabelValues(p.cfg.Target).Inc()
	p.log.Info().Str("why", why).Int("rows", len(c.last)).Int("extra", len(c.extra)).Msg("push_compares")
	// Until the end, the copy has no health record: its rows are of several times.
	out = &stream.SourceBatch{}
	for key := range c.health {
		p.emit(out, logreader.Record{Key: []byte(key), TimeMs: time.Now().UnixMilli()})
	}
	return p.push(ctx, out)
}

// readBoth reads the dataset and the copy up to their present ends.
func (p *pusher) readBoth(ctx context.Context) (*comparison, error) {
	copied, err := p.describe(ctx, p.cfg.Copies, p.cfg.Copy)
	if err != nil {
		return nil, err
	}
	dataset, err := p.describe(ctx, p.cfg.Source, p.cfg.Dataset)
	if err != nil {
		return nil, err
	}
	c := &comparison{end: dataset.End, last: map[string]int64{}, extra: map[string]bool{}, health: map[string]bool{}, began: time.Now()}
	c.from.Position, c.from.Copy = logreader.Start(), copied.id
	c.from.Topic = dataset.id
	dataset.until = dataset.End
	err = p.scan(ctx, dataset, func(r *logreader.Record) {
		switch {
		case len(r.Key) == 0 || r.Key[0] == p.cfg.Health || !slices.Contains(p.cfg.Tables, r.Key[0]):
		case r.Value == nil:
			c.last[string(r.Key)] = -r.Offset - 1
		default:
			c.last[string(r.Key)] = r.Offset + 1
		}
	})
	if err != nil {
		return nil, err
	}
	// Up to the end of all records: rows of a former owner, whose transaction is not decided yet.
	copied.until = copied.Written
	err = p.scan(ctx, copied, func(r *logreader.Record) {
		key := string(r.Key)
		switch {
		case r.Value == nil:
			delete(c.extra, key)
			delete(c.health, key)
		case key != "" && r.Key[0] == p.cfg.Health:
			c.health[key] = true
		}
		if r.Value != nil && c.last[key] <= 0 {
			c.extra[key] = true
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

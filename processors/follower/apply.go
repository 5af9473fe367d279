package follower

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
)

// isRow reports whether a record is one of a row. The records of the runtime in a changelog are
// not. A record without a usable key is not either, and is counted.
func (p *partition) isRow(rec *kgo.Record) bool {
	switch {
	case rec.Attrs.IsControl():
		return false
	case rec.Key == nil, p.topic.Changelog && len(rec.Key) == 0:
		p.skipped.Add(1)
		return false
	}
	return !p.topic.Changelog || !changelogpb.IsSystem(rec.Key)
}

// applier collects the changes of one poll in one batch.
type applier struct {
	f     *Follower
	batch *pebble.Batch // indexed: a read sees the changes of the same poll
	moved map[*partition]position
	row   []byte
}

func (f *Follower) newApplier() *applier {
	a := &applier{f: f, moved: map[*partition]position{}}
	if f.cfg.OnChange == nil {
		a.batch = f.store.DB.NewBatch()
	} else {
		a.batch = f.store.DB.NewIndexedBatch()
	}
	return a
}

// records applies records of a partition. Those of a load are collected, also behind the end of the
// load while its rows are being written.
func (a *applier) records(p *partition, recs []*kgo.Record) error {
	if p.load == nil {
		return a.changes(p, recs)
	}
	for _, rec := range recs {
		if !p.isRow(rec) {
			continue
		}
		if err := errors.Join(p.load.put(rec), a.f.makeRoom()); err != nil {
			return err
		}
	}
	last, ended := recs[len(recs)-1], p.load.ended()
	p.load.epoch = last.LeaderEpoch
	p.load.next.Store(last.Offset + 1)
	if p.load.ended() && !ended {
		return a.f.write(p.load)
	}
	return nil
}

// changes adds the records of a partition to the batch, with the position behind them.
func (a *applier) changes(p *partition, recs []*kgo.Record) error {
	for _, rec := range recs {
		if !p.isRow(rec) {
			continue
		}
		if err := a.change(p, rec); err != nil {
			return err
		}
	}
	last := recs[len(recs)-1]
	now := p.position
	now.Next, now.Epoch = last.Offset+1, last.LeaderEpoch
	now.observe(p.end, p.endAt)
	a.moved[p] = now
	return putPosition(a.batch, p.slot, now)
}

func (a *applier) change(p *partition, rec *kgo.Record) error {
	if a.f.cfg.OnChange != nil {
		old, _, err := readRow(a.batch, p.slot, rec.Key)
		if err != nil {
			return err
		}
		if old != nil || rec.Value != nil {
			err := a.f.cfg.OnChange(
				Change{Topic: p.Topic, Partition: p.Partition, Offset: rec.Offset, Key: rec.Key, Old: old, New: rec.Value})
			if err != nil {
				return err
			}
		}
	}
	key := store.Key(p.slot, rowTable, rec.Key)
	if rec.Value == nil {
		return a.batch.Delete(key, nil)
	}
	a.row = appendRow(a.row[:0], rec.Offset, rec.Value)
	return a.batch.Set(key, a.row, nil)
}

// commit writes the batch. Rows and positions of all partitions of the poll are in it.
func (a *applier) commit() error {
	defer func() { _ = a.batch.Close() }() // it was committed, or an error is returned
	if a.batch.Empty() {
		return nil
	}
	if err := a.f.cfg.failpoint("applied"); err != nil {
		return err
	}
	if err := a.batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	a.f.mu.Lock()
	for p, now := range a.moved {
		p.position, p.written = now, time.Now()
	}
	a.f.mu.Unlock()
	return a.f.cfg.failpoint("committed")
}

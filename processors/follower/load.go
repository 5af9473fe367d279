package follower

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/store"
)

// load reads a partition from its start into a slot of its own.
type load struct {
	f     *Follower
	slot  int32
	began time.Time    // when the brokers were asked for until
	next  atomic.Int64 // the offset to read next
	epoch int32
	until int64 // the end of the committed records
	bulk  *store.BulkLoader
	key   []byte
	row   []byte
}

// newLoad begins a load of the offsets from next up to until.
func (f *Follower) newLoad(began time.Time, next, until int64) (*load, error) {
	slot, err := f.freeSlot()
	if err != nil {
		return nil, err
	}
	if err := f.store.ClearPartition(slot); err != nil {
		return nil, err
	}
	l := &load{f: f, slot: slot, began: began, until: until, epoch: -1, bulk: store.NewBulkLoader(f.store, slot)}
	l.next.Store(next)
	return l, nil
}

// ended reports whether the load has reached its end.
func (l *load) ended() bool { return l.next.Load() >= l.until }

// put adds a record.
func (l *load) put(rec *kgo.Record) error {
	l.key = append(append(l.key[:0], rowTable), rec.Key...)
	var row []byte
	if rec.Value != nil {
		l.row = appendRow(l.row[:0], rec.Offset, rec.Value)
		row = l.row
	}
	l.f.memory.collected -= l.bulk.Bytes()
	err := l.bulk.Put(l.key, row)
	l.f.memory.collected += l.bulk.Bytes()
	return err
}

// abandon ends a load that did not reach its end. Its slot has no position, so that it counts as
// empty.
func (l *load) abandon() error {
	l.f.memory.collected -= l.bulk.Bytes()
	return l.bulk.Wait()
}

// finishWritten finishes the loads that have reached their end and are written. With wait it waits
// until one is written.
func (f *Follower) finishWritten(wait bool) error {
	for _, p := range f.parts {
		if p.load == nil || !p.load.ended() || p.load.bulk.Writing() && !wait {
			continue
		}
		if err := f.finish(p); err != nil {
			return err
		}
		wait = false
	}
	return nil
}

// finish makes the loaded rows those of p, and deletes the former rows.
func (f *Follower) finish(p *partition) error {
	l := p.load
	f.memory.collected -= l.bulk.Bytes()
	if err := l.bulk.Finish(); err != nil {
		return err
	}
	if err := f.cfg.failpoint("loaded"); err != nil {
		return err
	}
	if err := f.reportDifference(p, l.slot); err != nil {
		return err
	}
	now := p.position
	now.Next, now.Epoch, now.AsOf = l.next.Load(), l.epoch, l.began
	b := f.store.DB.NewBatch()
	defer func() { _ = b.Close() }() // it was committed, or an error is returned
	err := putPosition(b, l.slot, now)
	if p.slot >= 0 {
		lower, upper := slotBounds(p.slot)
		err = errors.Join(err, b.DeleteRange(lower, upper, nil))
	}
	if err != nil {
		return err
	}
	if err := f.cfg.failpoint("reported"); err != nil {
		return err
	}
	f.mu.Lock()
	err = b.Commit(pebble.NoSync)
	if err == nil {
		p.position, p.slot, p.load, p.written = now, l.slot, nil, time.Now()
	}
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	f.checkCaughtUp()
	f.cfg.Log.Debug().Str("topic", p.Topic).Int32("partition", p.Partition).Int64("next", p.Next).Dur("took_ms", time.Since(l.began)).
		Msg("follower_loaded")
	return f.cfg.failpoint("switched")
}

// forget deletes the rows of a partition.
func (f *Follower) forget(p *partition) error {
	if p.slot < 0 {
		return nil
	}
	if err := f.reportDifference(p, -1); err != nil {
		return err
	}
	lower, upper := slotBounds(p.slot)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.store.DB.DeleteRange(lower, upper, pebble.Sync); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	p.slot, p.position = -1, position{Format: positionFormat, Topic: p.Topic, Partition: p.Partition}
	return nil
}

// reportDifference calls OnChange for each row that differs between the slot of p and slot, in the
// order of the keys. A slot of -1 has no rows.
func (f *Follower) reportDifference(p *partition, slot int32) (err error) {
	if f.cfg.OnChange == nil {
		return nil
	}
	former, err := newRows(f.store.DB, p.slot)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, former.close()) }()
	loaded, err := newRows(f.store.DB, slot)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.close()) }()
	for former.valid || loaded.valid {
		c := Change{Topic: p.Topic, Partition: p.Partition, Offset: -1}
		order := 0
		switch {
		case !loaded.valid:
			order = -1
		case !former.valid:
			order = 1
		default:
			order = bytes.Compare(former.key, loaded.key)
		}
		if order <= 0 {
			c.Key, c.Old = former.key, former.value
		}
		if order >= 0 {
			c.Key, c.New, c.Offset = loaded.key, loaded.value, loaded.offset
		}
		if order != 0 || !bytes.Equal(c.Old, c.New) {
			if err := f.cfg.OnChange(c); err != nil {
				return err
			}
		}
		if order <= 0 {
			err = former.next()
		}
		if order >= 0 {
			err = errors.Join(err, loaded.next())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows iterates over the rows of a slot.
type rows struct {
	it         *pebble.Iterator // nil: no rows
	valid      bool
	key, value []byte
	offset     int64
}

func newRows(r pebble.Reader, slot int32) (*rows, error) {
	if slot < 0 {
		return &rows{}, nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: store.Key(slot, rowTable, nil), UpperBound: store.Key(slot, rowTable+1, nil)})
	if err != nil {
		return nil, fmt.Errorf("scan store: %w", err)
	}
	s := &rows{it: it}
	if err := s.take(it.First()); err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return s, nil
}

func (s *rows) next() error { return s.take(s.it.Next()) }

// take decodes the present row.
func (s *rows) take(valid bool) (err error) {
	if s.valid = valid; !valid {
		return s.it.Error()
	}
	s.key = s.it.Key()[len(store.Key(0, rowTable, nil)):]
	s.value, s.offset, err = parseRow(s.it.Value())
	return err
}

func (s *rows) close() error {
	if s.it == nil {
		return nil
	}
	return s.it.Close()
}

package follower

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Snapshot is a read-only view of all rows at one moment. Close it soon: it keeps deleted rows on
// the disk, and Run waits for it at its end.
type Snapshot struct {
	snap  *pebble.Snapshot
	store *store.Store
	done  func()
	slots map[id]int32
}

// Snapshot returns the rows as they are now. It returns ErrNotRunning while Run is not at work.
func (f *Follower) Snapshot() (*Snapshot, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.store == nil {
		return nil, ErrNotRunning
	}
	return &Snapshot{snap: f.store.DB.NewSnapshot(), store: f.store, done: f.store.Retain(), slots: f.slots()}, nil
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	defer s.done()
	return s.snap.Close()
}

// Get returns the row of a key. It returns ErrLoading for a partition without complete rows.
func (s *Snapshot) Get(topic string, partition int32, key []byte) (row Row, found bool, err error) {
	slot, err := s.slot(topic, partition)
	if err != nil {
		return Row{}, false, err
	}
	value, offset, err := readRow(s.snap, slot, key)
	return Row{key, value, offset}, value != nil, s.examine(err)
}

// Scan calls fn for each row whose key begins with prefix, in the order of the keys. The row is
// valid during the call only. An error of fn ends the scan and is returned. Scan returns ErrLoading
// for a partition without complete rows.
func (s *Snapshot) Scan(topic string, partition int32, prefix []byte, fn func(Row) error) error {
	slot, err := s.slot(topic, partition)
	if err != nil {
		return err
	}
	lower := store.Key(slot, rowTable, prefix)
	return s.scan(lower, stream.PrefixEnd(lower), fn)
}

// KeyRange is a range of keys of a partition: From, and all up to To, which is not included. A nil
// To is the end of the partition.
type KeyRange struct {
	Topic     string
	Partition int32
	From, To  []byte
}

// Range is Scan for a range of keys.
func (s *Snapshot) Range(k KeyRange, fn func(Row) error) error {
	slot, err := s.slot(k.Topic, k.Partition)
	if err != nil {
		return err
	}
	upper := store.Key(slot, rowTable+1, nil)
	if k.To != nil {
		upper = store.Key(slot, rowTable, k.To)
	}
	return s.scan(store.Key(slot, rowTable, k.From), upper, fn)
}

// scan calls fn for the rows of a range of store keys.
func (s *Snapshot) scan(lower, upper []byte, fn func(Row) error) error {
	return s.examine(store.ScanRange(s.snap, lower, upper, func(key, b []byte) error {
		value, offset, err := parseRow(b)
		if err != nil {
			return err
		}
		return fn(Row{key, value, offset})
	}))
}

// Next returns the offset up to which the rows of a partition include the log. It returns
// ErrLoading for a partition without complete rows.
func (s *Snapshot) Next(topic string, partition int32) (int64, error) {
	slot, err := s.slot(topic, partition)
	if err != nil {
		return 0, err
	}
	b, err := store.Get(s.snap, positionKey(slot))
	if err != nil {
		return 0, s.examine(err)
	}
	p, err := decodePosition(slot, b)
	return p.Next, err
}

// Partitions returns the partitions of a topic that have complete rows, in no order.
func (s *Snapshot) Partitions(topic string) (list []int32) {
	for at, slot := range s.slots {
		if at.topic == topic && slot >= 0 {
			list = append(list, at.n)
		}
	}
	return list
}

func (s *Snapshot) slot(topic string, partition int32) (int32, error) {
	slot, known := s.slots[id{topic, partition}]
	if !known || slot < 0 {
		return 0, fmt.Errorf("%w: %s[%d]: Status has the reason", ErrLoading, topic, partition)
	}
	return slot, nil
}

// examine reports damage that a read has found: Run then replaces the store.
func (s *Snapshot) examine(err error) error {
	if store.IsDamage(err) {
		s.store.ReportDamage(err)
	}
	return err
}

// Get returns the present row of a key, see Snapshot.Get. The row belongs to the caller.
func (f *Follower) Get(topic string, partition int32, key []byte) (row Row, found bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.store == nil {
		return Row{}, false, ErrNotRunning
	}
	p := f.parts[id{topic, partition}]
	if p == nil || p.slot < 0 {
		return Row{}, false, fmt.Errorf("%w: %s[%d]: Status has the reason", ErrLoading, topic, partition)
	}
	value, offset, err := readRow(f.store.DB, p.slot, key)
	if store.IsDamage(err) {
		f.store.ReportDamage(err)
	}
	return Row{key, value, offset}, value != nil, err
}

// Scan is Snapshot.Scan on the present rows.
func (f *Follower) Scan(topic string, partition int32, prefix []byte, fn func(Row) error) error {
	s, err := f.Snapshot()
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // a snapshot of an open database has no error
	return s.Scan(topic, partition, prefix, fn)
}

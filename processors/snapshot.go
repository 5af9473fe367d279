package processors

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Snapshot is a read-only view of the committed state at one moment. Close it.
type Snapshot struct {
	snap      *pebble.Snapshot
	done      func()
	store     *store.Store
	canonical store.Canonical
	runtime   *Runtime
	running   []bool // by partition: it ran in this process while the snapshot was taken
}

// KeyRange is a range of the keys of one table in one partition.
type KeyRange struct {
	Partition int32
	Table     byte
	From, To  []byte // from From up to, not including, To; a nil To is the end of the table
}

// Snapshot returns the committed state of this process as it is now, of partitions that it runs,
// keeps warm, or once had. It returns ErrNotRunning while Run is not at work.
func (r *Runtime) Snapshot() (*Snapshot, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.store == nil {
		return nil, ErrNotRunning
	}
	s := &Snapshot{done: r.store.Retain(), store: r.store, canonical: r.proc.Canonical, runtime: r}
	s.running = r.directory().runningWhile(func() { s.snap = r.store.DB.NewSnapshot() })
	return s, nil
}

// Checkpoint writes a copy of the store to dir, which must not exist. Files that have not changed
// since are hard links. It returns ErrNotRunning while Run is not at work.
func (r *Runtime) Checkpoint(dir string) error {
	r.mu.RLock()
	s := r.store
	if s == nil {
		r.mu.RUnlock()
		return ErrNotRunning
	}
	done := s.Retain()
	r.mu.RUnlock()
	defer done()
	return s.Checkpoint(dir)
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	defer s.done()
	return s.snap.Close()
}

// Get returns the value of a key, which belongs to the caller; nil if the key has no value. It
// reads what the store has of the partition, which another process may own: see Partition.
func (s *Snapshot) Get(partition int32, table byte, key []byte) ([]byte, error) {
	return store.Get(s.snap, store.Key(partition, table, key))
}

// Scan calls fn for each key of a table that begins with prefix, in order. Key and value are valid
// during the call only. An error of fn ends the scan and is returned.
func (s *Snapshot) Scan(partition int32, table byte, prefix []byte, fn func(key, value []byte) error) error {
	return store.Scan(s.snap, store.Key(partition, table, prefix), fn)
}

// Range calls fn for each key of a range, in order. Key and value are valid during the call only.
// An error of fn ends the scan and is returned.
func (s *Snapshot) Range(span KeyRange, fn func(key, value []byte) error) error {
	upper := stream.PrefixEnd(store.Key(span.Partition, span.Table, nil))
	if span.To != nil {
		upper = store.Key(span.Partition, span.Table, span.To)
	}
	return store.ScanRange(s.snap, store.Key(span.Partition, span.Table, span.From), upper, fn)
}

// Meta returns the positions of a partition's state: the changelog offset and the marker of its
// last transaction. The marker is nil for a partition that never committed.
func (s *Snapshot) Meta(partition int32) (*changelogpb.TaskMeta, error) {
	return s.store.Meta(s.snap, partition)
}

package processors

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
)

// Hash sums up the logged tables of a partition, the timers among them. A table without keys is not in the answer. It reads
// them in one pass and keeps none of it in memory.
func (s *Snapshot) Hash(partition int32) (map[byte]store.Sum, error) {
	return store.HashTables(s.snap, partition, s.canonical)
}

// Snapshot is committed state at one moment. Close it.
type Snapshot struct {
	snap      *pebble.Snapshot
	done      func()
	store     *store.Store
	canonical store.Canonical
}

// ErrNotRunning says that the runtime has no store open.
var ErrNotRunning = errors.New("the processor is not running")

// Snapshot gives committed state as it is now.
func (r *Runtime) Snapshot() (*Snapshot, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.store == nil {
		return nil, ErrNotRunning
	}
	return &Snapshot{done: r.store.Retain(), snap: r.store.DB.NewSnapshot(), store: r.store, canonical: r.proc.Canonical}, nil
}

// Checkpoint writes a copy of the store to dir, which must not exist. It shares the files that have not changed since. It returns
// ErrNotRunning while Run is not at work.
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

// Get reads a key of a table in a partition; nil if there is none.
func (s *Snapshot) Get(partition int32, table byte, key []byte) ([]byte, error) {
	return store.Get(s.snap, store.Key(partition, table, key))
}

// Scan calls fn for each key of a table that begins with prefix, in order.
func (s *Snapshot) Scan(partition int32, table byte, prefix []byte, fn func(key, value []byte) error) error {
	return store.Scan(s.snap, store.Key(partition, table, prefix), fn)
}

// Meta says as of what a partition's state is; its Marker is nil for one that never committed.
func (s *Snapshot) Meta(partition int32) (*changelogpb.TaskMeta, error) {
	return s.store.Meta(s.snap, partition)
}

package processorstest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// storeContents is the content of the store of one process.
type storeContents struct {
	process string
	stores  map[int32]invariant.Store
}

// storeReader reads committed state: a processors.Snapshot, or a store that no process uses.
type storeReader interface {
	Meta(partition int32) (*changelogpb.TaskMeta, error)
	Scan(partition int32, table byte, prefix []byte, fn func(key, value []byte) error) error
}

// readStores reads the stores of the running processes, partition by partition, with read.
func (h *Harness) readStores(read func(storeReader, int32) (invariant.Store, error)) ([]storeContents, error) {
	var list []storeContents
	for _, p := range h.running() {
		if p.rt.App() != h.options.Processor.App { // a test started another application
			continue
		}
		snap, err := p.rt.Snapshot()
		if errors.Is(err, processors.ErrNotRunning) { // it has just started
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := h.readPartitions(p.name, snap, read)
		if err := errors.Join(err, snap.Close()); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func (h *Harness) readPartitions(process string, r storeReader,
	read func(storeReader, int32) (invariant.Store, error),
) (storeContents, error) {
	c := storeContents{process, map[int32]invariant.Store{}}
	for p := range h.parts {
		s, err := read(r, p)
		if err != nil {
			return c, fmt.Errorf("read the store of process %s: %w", process, err)
		}
		c.stores[p] = s
	}
	return c, nil
}

// closedStore reads a store that no process uses.
type closedStore struct{ *store.Store }

func (s closedStore) Meta(partition int32) (*changelogpb.TaskMeta, error) {
	return s.Store.Meta(s.DB, partition)
}

func (s closedStore) Scan(partition int32, table byte, prefix []byte, fn func(key, value []byte) error) error {
	return store.Scan(s.DB, store.Key(partition, table, prefix), fn)
}

// readClosedStores reads the stores that processes left on their disks when they ended without an
// error.
func (h *Harness) readClosedStores() (list []storeContents, err error) {
	last := map[string]*Process{}
	for _, p := range h.lives() {
		last[p.name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		p := last[name]
		if !p.ownFS || p.killed || p.err != nil || p.fs != h.Disk(name) || p.rt.App() != h.options.Processor.App {
			continue
		}
		if _, err := p.fs.Stat(p.fs.PathJoin(StateDir, p.rt.App(), "db")); err != nil { // it ended before it had one
			continue
		}
		nop := zerolog.Nop()
		s, err := store.Open(
			&store.Options{
				FS: p.fs, Dir: StateDir, Instance: "checks", Log: &nop, CacheBytes: 1 << 20, MemtableBytes: 1 << 20, BallastBytes: -1,
			}, p.rt.App())
		if err != nil {
			return nil, fmt.Errorf("open the store that process %s left: %w", name, err)
		}
		c, err := h.readPartitions(name+" after its end", closedStore{s}, readStore)
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// readNext reads the input offsets of a partition.
func readNext(r storeReader, partition int32) (s invariant.Store, err error) {
	m, err := r.Meta(partition)
	s.ChangelogNext, s.Next = m.GetChangelogNext(), positions(m.GetMarker())
	return s, err
}

// readStore reads the logged tables of a partition, by the keys of the changelog.
func readStore(r storeReader, partition int32) (invariant.Store, error) {
	s, err := readNext(r, partition)
	s.State = map[string]string{}
	for table := stream.FirstTable; table < stream.FirstLocalTable && err == nil; table++ {
		err = r.Scan(partition, table, nil, func(k, v []byte) error {
			s.State[changelogKey(table, k)] = string(v)
			return nil
		})
	}
	return s, err
}

// changelogKey returns the changelog's key of a row.
func changelogKey(table byte, key []byte) string { return string([]byte{table}) + string(key) }

// positions returns the next input offsets of a marker, by topic.
func positions(m *changelogpb.Marker) map[string]int64 {
	next := map[string]int64{}
	for _, in := range m.GetInputs() {
		next[in.GetTopic()] = in.GetNext()
	}
	return next
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// metaFormat is the version of the store's layout. A store with a greater version is rejected.
const metaFormat = 1

// Store is the Pebble database of one processor in one process. A store key is
// [partition u16][table u8][key]; table 0 holds the task's meta.
type Store struct {
	DB          *pebble.DB
	cache       *pebble.Cache
	App         string
	lock        io.Closer
	disk        *disk
	dir         string                   // of this application, below Options.Dir
	tables      sstable.WriterOptions    // for tables of BulkLoader
	ingest      func(table string) error // ingests a table and removes its file
	bulkBuffers sync.Pool                // of *bulkBuffer
	Log         zerolog.Logger

	mu            sync.Mutex
	owners        map[int32]chan struct{} // closed when the owner releases the partition
	slots         chan struct{}           // limits concurrent takeovers
	OnRelease     func()                  // called after a partition was released
	openSnapshots sync.WaitGroup          // open snapshots
	damage        damage
	memtableBytes int64 // limit of all memtables together
	opened        atomic.Bool
	damagedDir    string // where a damaged database was moved to
	stop          chan struct{}
	done          chan struct{}
}

// Open opens the store of an application. It creates a store that does not exist.
func Open(o *Options, app string) (*Store, error) {
	fs, dir := o.FS, path.Join(o.Dir, app)
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create state directory %s: %w", dir, diskError(err))
	}
	lock, err := LockDir(fs, dir, o.Instance)
	if err != nil {
		return nil, diskError(err)
	}
	s := &Store{
		App: app, lock: lock, dir: dir, Log: *o.Log, cache: newCache(o),
		owners: map[int32]chan struct{}{}, OnRelease: func() {}, slots: make(chan struct{}, 8), stop: make(chan struct{}),
		done:   make(chan struct{}),
		damage: damage{found: make(chan struct{})}, disk: newDisk(o, dir), memtableBytes: o.MemtableBytes,
	}
	err = s.open(path.Join(dir, "db"))
	if IsDamage(err) {
		if err = s.setAside(fs, dir, err); err == nil {
			s.damage = damage{found: make(chan struct{})}
			err = s.open(path.Join(dir, "db"))
		}
	}
	if err != nil {
		s.cache.Unref()
		return nil, errors.Join(err, lock.Close())
	}
	go s.flushRegularly()
	return s, nil
}

// newCache makes the block cache. Pebble reserves the space of the memtables in it: with CacheBytes
// alone almost nothing would be left for blocks.
func newCache(o *Options) *pebble.Cache { return pebble.NewCache(o.CacheBytes + o.MemtableBytes) }

// open opens the database. A new database is closed and opened again: only then is the newest log
// format in force. In the older format a flipped byte in the log silently drops synced writes.
func (s *Store) open(dir string) error {
	_, err := s.disk.Stat(dir)
	fresh := err != nil
	opts := func() *pebble.Options {
		po := &pebble.Options{
			FS: s.disk, Cache: s.cache, Logger: pebbleLog{s.Log}, FormatMajorVersion: pebble.FormatNewest,
			MemTableSize: uint64(s.memtableBytes / 3), MemTableStopWritesThreshold: 3, L0CompactionThreshold: 8, L0StopWritesThreshold: 32,
			WALBytesPerSync: 1 << 20, BytesPerSync: 1 << 20,
			EventListener: &pebble.EventListener{
				DataCorruption:  s.onCorruption,
				WriteStallBegin: func(pebble.WriteStallBeginInfo) { s.disk.stalled.Store(true) },
				WriteStallEnd:   func() { s.disk.stalled.Store(false) },
			},
		}
		for i := range po.Levels {
			po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
		s.compactOnceOpen(po)
		return po
	}
	if !fresh {
		if err := checkManifest(s.disk, dir); err != nil {
			return openError(dir, err)
		}
	}
	if s.DB, err = pebble.Open(dir, opts()); err == nil && fresh {
		if err = s.DB.Close(); err == nil {
			s.DB, err = pebble.Open(dir, opts())
		}
	}
	full := s.disk.err()
	if full != nil && err == nil {
		err = s.DB.Close()
	}
	switch {
	case full != nil:
		s.Log.Warn().AnErr("close", err).Msg("store_not_opened")
		return full
	case err != nil:
		return openError(dir, err)
	}
	s.opened.Store(true)
	s.disk.db.Store(&dir)
	o := opts()
	o.EnsureDefaults()
	s.tables = o.MakeWriterOptions(0, s.DB.TableFormat())
	s.ingest = func(table string) error { return s.DB.Ingest(context.Background(), []string{table}) }
	return s.removeTables()
}

// removeTables removes tables that an earlier process wrote and Pebble did not ingest.
func (s *Store) removeTables() error {
	names, err := s.disk.List(s.dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", s.dir, err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, bulkPrefix) {
			err = errors.Join(err, s.disk.Remove(path.Join(s.dir, n)))
		}
	}
	return err
}

// onCorruption is called for each damaged block. A compaction that meets one is repeated at once
// until the store is closed; the pause keeps it from using a whole processor.
func (s *Store) onCorruption(info pebble.DataCorruptionInfo) {
	s.ReportDamage(info.Details)
	<-time.After(50 * time.Millisecond)
}

// LockDir locks the directory for this process. A file beside the lock names the process.
func LockDir(fs vfs.FS, dir, instance string) (io.Closer, error) {
	holder := path.Join(dir, "holder")
	lock, err := fs.Lock(path.Join(dir, "LOCK"))
	if err != nil {
		who := "an unknown process"
		if f, err := fs.Open(holder); err == nil {
			b, _ := io.ReadAll(io.LimitReader(f, 256))
			_ = f.Close()
			who = strings.TrimSpace(string(b))
		}
		return nil, fmt.Errorf("%w: %s is in use by %s: stop that process, or give this one another state directory", ErrLocked, dir, who)
	}
	f, err := fs.Create(holder, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = fmt.Fprintf(f, "instance %s, process %d, since %s\n", instance, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", holder, err), lock.Close())
	}
	return lock, nil
}

// compactOnceOpen delays compactions until the database is open. To open it, Pebble writes the
// log's content to tables, which may start a compaction, and waits for its end. With ten million
// keys that takes more than a second, in which no partition is served. The options make the lower
// bound, which is 0 until then, the only input to the number of compactions.
func (s *Store) compactOnceOpen(o *pebble.Options) {
	o.CompactionConcurrencyRange = func() (lower, upper int) {
		if s.opened.Load() {
			return 1, 1
		}
		return 0, 1
	}
	o.Experimental.L0CompactionConcurrency = math.MaxInt
	o.Experimental.CompactionDebtConcurrency = math.MaxUint64
	o.Experimental.CompactionGarbageFractionForMaxConcurrency = func() float64 { return 0 }
}

// flushRegularly flushes the memtables of a store with few writes, so that a crash of the machine
// costs a short replay.
func (s *Store) flushRegularly() {
	defer close(s.done)
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if _, err := s.DB.AsyncFlush(); err != nil {
				s.Log.Error().Err(err).Msg("store_flush_failed")
			}
		case <-s.stop:
			return
		}
	}
}

// CloseAfter closes the store after a run that ended with err. If the store is damaged, it moves
// the store aside and returns the damage, which caused err.
func (s *Store) CloseAfter(o *Options, err error) error {
	if s.disk.err() != nil {
		return s.Close()
	}
	damaged := s.damage.err()
	if damaged == nil && IsDamage(err) {
		damaged = err
	}
	if damaged == nil {
		return errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil { // a damaged store may be unable to write
		s.Log.Warn().Err(err).Msg("store_close_failed")
	}
	if err := s.setAside(o.FS, path.Join(o.Dir, s.App), damaged); err != nil {
		return err
	}
	return damaged
}

// slowClose is the time after which Close logs what it waits for, again and again.
const slowClose = 5 * time.Second

// Close flushes the memtables and closes the database.
func (s *Store) Close() error {
	var waitsFor atomic.Pointer[string]
	began, step := time.Now(), func(what string) { waitsFor.Store(&what) }
	step("queries to release their snapshots")
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		t := time.NewTicker(slowClose)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.Log.Warn().Str("waits_for", *waitsFor.Load()).Dur("for_ms", time.Since(began)).Msg("store_close_slow")
			case <-ended:
				return
			}
		}
	}()
	close(s.stop)
	<-s.done
	s.openSnapshots.Wait()
	var err error
	if s.disk.state.Load() != diskAbandoned {
		step("a flush of the memtables")
		err = s.DB.Flush()
	}
	step("the end of a compaction, which takes long if it has found a damaged block")
	err = errors.Join(err, s.DB.Close(), s.lock.Close(), s.disk.err()) // Pebble does not see the failure of the disk
	s.cache.Unref()
	return err
}

// BeginTakeover waits for a free takeover slot, which EndTakeover releases. It returns false if
// giveUp is closed first.
func (s *Store) BeginTakeover(giveUp <-chan struct{}) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	case <-giveUp:
		return false
	}
}

// EndTakeover releases the slot of BeginTakeover.
func (s *Store) EndTakeover() { <-s.slots }

// NewMeta returns the meta of a partition of app that has committed nothing.
func NewMeta(app string) *changelogpb.TaskMeta {
	return &changelogpb.TaskMeta{Format: metaFormat, App: app}
}

// Checkpoint writes a copy of the database to dir.
func (s *Store) Checkpoint(dir string) error {
	return s.DB.Checkpoint(dir, pebble.WithFlushedWAL())
}

// Retain keeps the store open until done is called.
func (s *Store) Retain() (done func()) {
	s.openSnapshots.Add(1)
	return s.openSnapshots.Done
}

// TryAcquire acquires partition p unless a worker of this process owns it.
func (s *Store) TryAcquire(p int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.owners[p]; held {
		return false
	}
	s.owners[p] = make(chan struct{})
	return true
}

// Available reports whether no worker of this process owns partition p.
func (s *Store) Available(p int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.owners[p]
	return !held
}

// Acquire waits until no other worker of this process owns partition p, then acquires it. It
// returns false if giveUp is closed first.
func (s *Store) Acquire(p int32, giveUp <-chan struct{}) bool {
	for !s.TryAcquire(p) {
		s.mu.Lock()
		held, ok := s.owners[p]
		s.mu.Unlock()
		if !ok {
			continue
		}
		select {
		case <-held:
		case <-giveUp:
			return false
		}
	}
	return true
}

// Release releases partition p, so that another goroutine can acquire it.
func (s *Store) Release(p int32) {
	s.mu.Lock()
	if ch, ok := s.owners[p]; ok {
		close(ch)
		delete(s.owners, p)
	}
	s.mu.Unlock()
	s.OnRelease()
}

// Key returns the store key of a row: two bytes of partition, one byte of table, then key.
func Key(p int32, table byte, key []byte) []byte {
	return append([]byte{byte(p >> 8), byte(p), table}, key...)
}

func metaKey(p int32) []byte { return Key(p, changelogpb.SystemTable, []byte("task")) }

// Get returns the value of a row, or nil if the row does not exist. The slice belongs to the
// caller.
func Get(r pebble.Reader, key []byte) ([]byte, error) {
	v, c, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store: %w", err)
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, c.Close()
}

// Scan calls fn for each row of a table whose key begins with prefix. fn receives the key without
// partition and table.
func Scan(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) error {
	return ScanRange(r, prefix, stream.PrefixEnd(prefix), fn)
}

// ScanRange is Scan for the store keys in [lower, upper); a nil upper is the end of the store.
func ScanRange(r pebble.Reader, lower, upper []byte, fn func(key, value []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("scan store: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid(); it.Next() {
		if err := fn(it.Key()[min(keyPrefixLen, len(it.Key())):], it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}

// Meta reads the positions of a task. A task without positions has the zero meta.
func (s *Store) Meta(r pebble.Reader, p int32) (*changelogpb.TaskMeta, error) {
	b, err := Get(r, metaKey(p))
	if err != nil || b == nil {
		return NewMeta(s.App), err
	}
	m, err := changelogpb.Decode(b, &changelogpb.TaskMeta{}, fmt.Sprintf("meta of partition %d", p))
	switch {
	case err != nil:
		return nil, err
	case m.Format > metaFormat:
		return nil, fmt.Errorf(
			"%w: partition %d has format %d, this binary reads up to %d: run the newer binary, or remove the state directory to rebuild from the changelog", ErrNewer, p, m.Format, metaFormat)
	case m.App != s.App:
		return nil, fmt.Errorf("%w: partition %d belongs to %q, this is %q: give each application its own state directory", ErrForeign, p,
			m.App, s.App)
	}
	return m, nil
}

// PutMeta adds the positions of partition p to a batch.
func PutMeta(b *pebble.Batch, p int32, m *changelogpb.TaskMeta) error {
	v, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode meta of partition %d: %w", p, err)
	}
	return b.Set(metaKey(p), v, nil)
}

// ClearPartition deletes the rows and positions of a partition; its state is rebuilt from the
// changelog.
func (s *Store) ClearPartition(p int32) error {
	prefix := []byte{byte(p >> 8), byte(p)}
	empty := true
	found := errors.New("not empty")
	if err := Scan(s.DB, prefix, func(_, _ []byte) error { empty = false; return found }); err != nil && !errors.Is(err, found) {
		return err
	}
	if empty {
		return nil
	}
	if err := s.DB.DeleteRange(prefix, stream.PrefixEnd(prefix), pebble.Sync); err != nil {
		return fmt.Errorf("clear partition %d: %w", p, err)
	}
	return nil
}

// pebbleLog logs Pebble's messages.
type pebbleLog struct{ log zerolog.Logger }

func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Trace().Str("text", fmt.Sprintf(format, args...)).Msg("store_info")
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error().Str("text", fmt.Sprintf(format, args...)).Msg("store_error")
}

// Fatalf is called by Pebble when it can no longer trust the disk. It must not return.
func (l pebbleLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error().Str("text", text).Msg("store_fatal")
	panic("store: " + text) //nolint:forbidigo // Pebble demands that Fatalf does not return; what it found must not be written on
}

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
)

// metaFormat is the version of the store's layout. A store with a greater one is refused.
const metaFormat = 1

// Store is the Pebble database of one processor in one process. Keys are [partition u16][table u8][key]; table 0 holds
// the task's meta.
type Store struct {
	DB     *pebble.DB
	cache  *pebble.Cache
	App    string
	lock   io.Closer
	disk   *disk
	dir    string                   // of this application
	tables sstable.WriterOptions    // for tables that are written outside
	ingest func(table string) error // takes one; the file goes
	Log    zerolog.Logger

	mu            sync.Mutex
	owners        map[int32]chan struct{} // closed when the holder lets go
	slots         chan struct{}           // takeovers that may read at a time
	OnRelease     func()                  // is called when a holder has let go
	openSnapshots sync.WaitGroup          // snapshots that are open
	damage        damage
	memtableBytes int64 // bytes of the write buffers
	opened        atomic.Bool
	damagedDir    string // where a damaged database was moved to
	stop          chan struct{}
	done          chan struct{}
}

// Open opens the store of an application, and makes it where there is none.
func Open(o *Options, app string) (*Store, error) {
	fs, dir := o.FS, path.Join(o.Dir, app)
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory %s: %w", dir, diskError(err))
	}
	lock, err := LockDir(fs, dir, o.Instance)
	if err != nil {
		return nil, diskError(err)
	}
	s := &Store{
		App: app, lock: lock, dir: dir, Log: *o.Log, cache: newCache(o),
		owners: map[int32]chan struct{}{}, OnRelease: func() {}, slots: make(chan struct{}, 8), stop: make(chan struct{}), done: make(chan struct{}),
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

// newCache makes the block cache. The database takes the room of its write buffers out of it, so that with no more than
// CacheBytes next to nothing would be left for blocks.
func newCache(o *Options) *pebble.Cache { return pebble.NewCache(o.CacheBytes + o.MemtableBytes) }

// open opens the database. A new one is closed and opened once more: only then is the newest log format in force, and
// with an older one a flipped byte in the log silently drops synced writes.
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
			return fmt.Errorf("open store %s: %w", dir, err)
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
		return fmt.Errorf("open store %s: %w", dir, err)
	}
	s.opened.Store(true)
	o := opts()
	o.EnsureDefaults()
	s.tables = o.MakeWriterOptions(0, s.DB.TableFormat())
	s.ingest = func(table string) error { return s.DB.Ingest(context.Background(), []string{table}) }
	return s.removeTables()
}

// removeTables removes what an earlier process wrote and the database did not take.
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

// onCorruption is told of each damaged block that somebody met. A compaction that meets one tries again at once, and again, until
// the store is closed: it is to leave the processor to others meanwhile.
func (s *Store) onCorruption(info pebble.DataCorruptionInfo) {
	s.ReportDamage(info.Details)
	<-time.After(50 * time.Millisecond)
}

// LockDir takes the directory for this process. The file beside the lock names the holder.
func LockDir(fs vfs.FS, dir, instance string) (io.Closer, error) {
	holder := path.Join(dir, "holder")
	lock, err := fs.Lock(path.Join(dir, "LOCK"))
	if err != nil {
		who := "a process that left no name"
		if f, err := fs.Open(holder); err == nil {
			b, _ := io.ReadAll(io.LimitReader(f, 256))
			_ = f.Close()
			who = strings.TrimSpace(string(b))
		}
		return nil, fmt.Errorf("%w: %s is held by %s: stop it, or give this process another data_dir", ErrLocked, dir, who)
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

// compactOnceOpen lets compactions begin only when the database is open. Opening writes out what the log has, which may begin
// one, and then waits for its end: with ten million keys for more than a second, in which no partition is served. Nothing
// but the least number of compactions, which is none until then, may decide how many there are.
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

// flushRegularly keeps a quiet store fresh, so that a crash of the machine costs a short replay.
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

// CloseAfter closes the store after a life that ended with err, and sets it aside if it is damaged: then that is what ended it.
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
	if err := s.Close(); err != nil { // it may not be able to write any more
		s.Log.Warn().Err(err).Msg("store_close_failed")
	}
	if err := s.setAside(o.FS, path.Join(o.Dir, s.App), damaged); err != nil {
		return err
	}
	return damaged
}

// Close writes what is buffered and closes the database.
func (s *Store) Close() error {
	close(s.stop)
	<-s.done
	s.openSnapshots.Wait()
	var err error
	if s.disk.state.Load() != diskAbandoned {
		err = s.DB.Flush()
	}
	err = errors.Join(err, s.DB.Close(), s.lock.Close(), s.disk.err()) // the database does not know of the last
	s.cache.Unref()
	return err
}

// BeginTakeover waits for leave to read; leave gives it back. false: giveUp came first.
func (s *Store) BeginTakeover(giveUp <-chan struct{}) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	case <-giveUp:
		return false
	}
}

// EndTakeover frees the slot of BeginTakeover.
func (s *Store) EndTakeover() { <-s.slots }

// NewMeta is the meta of a partition of app that has committed nothing.
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

// TryAcquire takes partition p if no worker of this process holds it.
func (s *Store) TryAcquire(p int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.owners[p]; held {
		return false
	}
	s.owners[p] = make(chan struct{})
	return true
}

// Available says whether nobody of this process holds partition p.
func (s *Store) Available(p int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.owners[p]
	return !held
}

// Acquire waits until no other worker of this process holds partition p, then takes it.
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

// Release lets another goroutine acquire partition p.
func (s *Store) Release(p int32) {
	s.mu.Lock()
	if ch, ok := s.owners[p]; ok {
		close(ch)
		delete(s.owners, p)
	}
	s.mu.Unlock()
	s.OnRelease()
}

// Key is the key of a row in the database: two bytes of partition, one of table, then key.
func Key(p int32, table byte, key []byte) []byte {
	return append([]byte{byte(p >> 8), byte(p), table}, key...)
}

func metaKey(p int32) []byte { return Key(p, changelogpb.SystemTable, []byte("task")) }

// Get reads a row; nil if there is none. The slice belongs to the caller.
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

// Scan calls fn for each key of a table that begins with prefix; fn gets the key without partition and table.
func Scan(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) error {
	return ScanRange(r, prefix, PrefixEnd(prefix), fn)
}

// ScanRange is Scan for the store keys from lower up to, not including, upper; nil is the end of the store.
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

// PrefixEnd is the first key after all that begin with prefix; nil if there is none.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// Meta reads what the store knows of a task; a zero meta if nothing.
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
		return nil, fmt.Errorf("%w: partition %d has format %d, this binary reads up to %d: run the newer binary, or remove the state directory to rebuild from the changelog", ErrNewer, p, m.Format, metaFormat)
	case m.App != s.App:
		return nil, fmt.Errorf("%w: partition %d belongs to %q, this is %q: give each application its own data_dir", ErrDiverged, p, m.App, s.App)
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

// ClearPartition forgets a partition: its state is rebuilt from the changelog.
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
	if err := s.DB.DeleteRange(prefix, PrefixEnd(prefix), pebble.Sync); err != nil {
		return fmt.Errorf("clear partition %d: %w", p, err)
	}
	return nil
}

// pebbleLog carries Pebble's own messages.
type pebbleLog struct{ log zerolog.Logger }

func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Trace().Str("text", fmt.Sprintf(format, args...)).Msg("store_info")
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error().Str("text", fmt.Sprintf(format, args...)).Msg("store_error")
}

// Fatalf is Pebble's answer to a disk it cannot trust any more: it must not return.
func (l pebbleLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error().Str("text", text).Msg("store_fatal")
	panic("store: " + text) //nolint:forbidigo // Pebble demands that Fatalf does not return; what it found must not be written on
}

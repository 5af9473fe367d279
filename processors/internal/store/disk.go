package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

var (
	// ErrDiskFull means that the disk of the state directory is full.
	ErrDiskFull = errors.New("the disk of the state directory is full")
	// ErrDisk means that the disk of the state directory fails writes or damages files.
	ErrDisk = errors.New("the disk of the state directory failed")
)

// errRemoved means that the directory of the database was removed while it was open.
var errRemoved = errors.New("the state directory was removed while the process used it; a restart rebuilds the state from the changelog")

// errDropped means that the disk was abandoned and the change was not made.
var errDropped = errors.New("the disk was given up")

// disk is the file system under a store. Pebble ends the program when it cannot write its log or
// its manifest. disk hides such failures from Pebble:
//
//	healthy ── no space ──────▶ no space: the ballast is freed for an orderly end, compactions are refused
//	   └────── other failure ─────┴─ second failure ──▶ abandoned: no write reaches the disk
//
// Changes that began before the state "abandoned" were made, and no later change was: a crash at
// that moment would leave the same files. Until the store is closed, its new tables are in memory,
// so that commits that wait for a flush can finish.
type disk struct {
	vfs.FS // the real file system
	log    zerolog.Logger

	ballast string
	db      atomic.Pointer[string] // directory of the open database
	state   atomic.Int32
	stalled atomic.Bool // a commit waits for a compaction
	memFS   *vfs.MemFS  // files that were created after the disk was abandoned

	mu     sync.Mutex
	why    error
	failed chan struct{} // closed at the first failed write
}

const (
	diskHealthy int32 = iota
	diskNoSpace
	diskAbandoned
)

// diskRetry is the pause between Pebble's attempts to compact, which it repeats until it is closed.
const diskRetry = 50 * time.Millisecond

func newDisk(o *Options, dir string) *disk {
	d := &disk{FS: o.FS, log: *o.Log, memFS: vfs.NewMem(), failed: make(chan struct{}), ballast: o.FS.PathJoin(dir, "ballast")}
	d.keepBallast(dir, o.BallastBytes)
	return d
}

// err returns the failure of the disk, nil while the disk works.
func (d *disk) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// LateFiles lists the files of dir that were created in memory after the disk was abandoned.
func (s *Store) LateFiles(dir string) []string {
	names, err := s.disk.memFS.List(dir)
	if err != nil {
		return nil
	}
	return names
}

// isWriteRefusal reports whether err is a failure of the disk. Errors about names that exist or do
// not exist are not.
func isWriteRefusal(err error) bool {
	var no syscall.Errno
	return errors.Is(err, errRemoved) || errors.As(err, &no) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist)
}

func isNoSpace(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) }

// diskError wraps a failure of the disk in ErrDiskFull or ErrDisk. Other errors stay as they are.
func diskError(err error) error {
	switch {
	case !isWriteRefusal(err):
		return err
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return fmt.Errorf("%w: %w", ErrDisk, err)
}

// try makes a change and repeats it after the ballast was freed. It returns errDropped once the
// disk is abandoned. A change that began before another change freed the ballast is repeated, too:
// it may have failed for the same lack of space.
func (d *disk) try(change func() error) error {
	for {
		at := d.state.Load()
		if at == diskAbandoned {
			return errDropped
		}
		err := d.explain(change())
		if !isWriteRefusal(err) {
			return err
		}
		d.onRefusal(at, err)
	}
}

// tryOnce is try for a sync. A failed sync must not be repeated: the operating system may have
// dropped the pages that it could not write.
func (d *disk) tryOnce(sync func() error) error {
	if d.state.Load() == diskAbandoned {
		return errDropped
	}
	err := sync()
	if !isWriteRefusal(err) {
		return err
	}
	d.onRefusal(diskNoSpace, err)
	return errDropped
}

// onRefusal moves the disk from state at to the next state.
func (d *disk) onRefusal(at int32, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.Load() > at {
		return // another write has changed the state
	}
	next := diskAbandoned
	if at == diskHealthy && isNoSpace(why) && d.FS.Remove(d.ballast) == nil {
		next = diskNoSpace
	}
	d.state.Store(next)
	d.log.Error().AnErr("why", why).Bool("ballast_freed", next == diskNoSpace).Msg("disk_write_failed")
	if d.why == nil {
		d.why = diskError(why)
		close(d.failed)
	}
}

// mayCompact reports whether a compaction may write. After the ballast was freed, only a compaction
// that a commit waits for may.
func (d *disk) mayCompact() bool {
	if d.state.Load() == diskHealthy || d.stalled.Load() {
		return true
	}
	<-time.After(diskRetry)
	return false
}

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	compaction := strings.Contains(string(category), "compaction")
	if compaction && !d.mayCompact() {
		return nil, fmt.Errorf("create %s: %w", name, errDropped)
	}
	return d.open(name, compaction, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

// OpenReadWrite implements vfs.FS.
func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.open(name, false, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(newname, false, func() (vfs.File, error) { return d.FS.ReuseForWrite(oldname, newname, category) })
}

// open opens a file for writing. Once the disk is abandoned, the file is in memory.
func (d *disk) open(name string, compaction bool, open func() (vfs.File, error)) (f vfs.File, err error) {
	err = d.try(func() error {
		f, err = open()
		return err
	})
	if errors.Is(err, errDropped) {
		if err = d.memFS.MkdirAll(d.PathDir(name), 0o700); err == nil {
			f, err = d.memFS.Create(name, vfs.WriteCategoryUnspecified)
		}
		return f, err
	}
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, d: d, compaction: compaction, table: strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")}, nil
}

// Open implements vfs.FS.
func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if d.inMemory(name) {
		return d.memFS.Open(name, opts...)
	}
	f, err := d.FS.Open(name, opts...)
	if err = d.explain(err); errors.Is(err, errRemoved) {
		d.onRefusal(diskNoSpace, err)
	}
	return f, err
}

// explain replaces an error about a file that does not exist by errRemoved if the whole database
// does not exist. Pebble ends the program where one of its files is missing.
func (d *disk) explain(err error) error {
	if errors.Is(err, fs.ErrNotExist) && d.removed() {
		return errRemoved
	}
	return err
}

// removed reports whether the directory of the open database does not exist.
func (d *disk) removed() bool {
	dir := d.db.Load()
	if dir == nil {
		return false
	}
	_, err := d.FS.Stat(*dir)
	return errors.Is(err, fs.ErrNotExist)
}

// check abandons the disk if the directory of the open database does not exist.
func (d *disk) check() {
	if d.removed() {
		d.onRefusal(diskNoSpace, errRemoved)
	}
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, d: d}, nil
}

// Stat implements vfs.FS.
func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	if d.inMemory(name) {
		return d.memFS.Stat(name)
	}
	return d.FS.Stat(name)
}

func (d *disk) inMemory(name string) bool {
	if d.state.Load() != diskAbandoned {
		return false
	}
	_, err := d.memFS.Stat(name)
	return err == nil
}

// Remove implements vfs.FS.
func (d *disk) Remove(name string) error {
	err := d.try(func() error { return d.FS.Remove(name) })
	if errors.Is(err, errDropped) {
		_ = d.memFS.Remove(name) // the file on the disk stays
		return nil
	}
	return err
}

// RemoveAll implements vfs.FS.
func (d *disk) RemoveAll(name string) error {
	err := d.try(func() error { return d.FS.RemoveAll(name) })
	if errors.Is(err, errDropped) {
		return d.memFS.RemoveAll(name)
	}
	return err
}

// Rename implements vfs.FS.
func (d *disk) Rename(oldname, newname string) error {
	err := d.try(func() error { return d.FS.Rename(oldname, newname) })
	if errors.Is(err, errDropped) && d.inMemory(oldname) {
		return d.memFS.Rename(oldname, newname)
	}
	return ignoreDropped(err)
}

// Link implements vfs.FS. Pebble uses it for copies of a store. A copy must be complete, so Link
// fails once the disk is abandoned.
func (d *disk) Link(oldname, newname string) error {
	return d.try(func() error { return d.FS.Link(oldname, newname) })
}

// MkdirAll implements vfs.FS.
func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	err := d.try(func() error { return d.FS.MkdirAll(dir, perm) })
	if errors.Is(err, errDropped) {
		return d.memFS.MkdirAll(dir, perm)
	}
	return err
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// ignoreDropped returns nil for errDropped.
func ignoreDropped(err error) error {
	if errors.Is(err, errDropped) {
		return nil
	}
	return err
}

// diskFile is an open file of disk.
type diskFile struct {
	vfs.File
	d          *disk
	compaction bool
	table      bool // tables are read again by name: an incomplete one has to fail
}

func (f *diskFile) change(how func(func() error) error, change func() error) error {
	if f.compaction && !f.d.mayCompact() {
		return errDropped
	}
	err := how(change)
	if f.table {
		return err
	}
	return ignoreDropped(err)
}

// Write implements vfs.File.
func (f *diskFile) Write(p []byte) (n int, err error) {
	err = f.change(f.d.try, func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// WriteAt implements vfs.File.
func (f *diskFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.change(f.d.try, func() error {
		m, err := f.File.WriteAt(p[n:], at+int64(n))
		n += m
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Sync implements vfs.File.
func (f *diskFile) Sync() error { return f.change(f.d.tryOnce, f.File.Sync) }

// SyncData implements vfs.File.
func (f *diskFile) SyncData() error { return f.change(f.d.tryOnce, f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *diskFile) SyncTo(length int64) (full bool, err error) {
	err = f.change(f.d.tryOnce, func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close implements vfs.File. Some file systems report the failure of an earlier write here.
func (f *diskFile) Close() error {
	err := f.File.Close()
	if !isWriteRefusal(err) {
		return err
	}
	return f.change(f.d.tryOnce, func() error { return err })
}

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
	// ErrDiskFull means that the disk of the state directory has no room left.
	ErrDiskFull = errors.New("the disk of the state directory is full")
	// ErrDisk means that the disk of the state directory refuses writes or damages files.
	ErrDisk = errors.New("the disk of the state directory fails")
)

// errDropped: the disk was given up, the change was not made.
var errDropped = errors.New("the disk was given up")

// disk is the file system under a store. The database ends the program when its log or its list of tables cannot be written;
// under disk it never learns:
//
//	writes ── no room ──▶ spent: the ballast is freed for an orderly end, compactions are refused
//	   └────── or else ──────┴─ refused again ──▶ gone: nothing reaches the disk any more
//
// Whatever began before "gone" happened and nothing after it did: a crash at that moment leaves the same files. Until the
// store is closed its new tables live in memory, so that commits that wait for a flush come to their end.
type disk struct {
	vfs.FS // the real one
	log    zerolog.Logger

	ballast string
	state   atomic.Int32
	stalled atomic.Bool // a commit waits for a compaction
	memFS   *vfs.MemFS  // what was made since it is gone

	mu     sync.Mutex
	why    error
	failed chan struct{} // closed by the first refusal
}

const (
	diskHealthy int32 = iota
	diskNoSpace
	diskAbandoned
)

// diskRetry is the pause of what the database tries again and again until it is closed.
const diskRetry = 50 * time.Millisecond

func newDisk(o *Options, dir string) *disk {
	d := &disk{FS: o.FS, log: *o.Log, memFS: vfs.NewMem(), failed: make(chan struct{}), ballast: o.FS.PathJoin(dir, "ballast")}
	d.keepBallast(dir, o.BallastBytes)
	return d
}

// err is why the disk is to be left, nil as long as it works.
func (d *disk) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// LateFiles lists what was made in dir since the disk is gone, which is in memory.
func (s *Store) LateFiles(dir string) []string {
	names, err := s.disk.memFS.List(dir)
	if err != nil {
		return nil
	}
	return names
}

// isWriteRefusal says whether err is the disk's no, and not that of a name that exists or does not.
func isWriteRefusal(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist)
}

func isNoSpace(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) }

// diskError names a refusal by what a caller can branch on; other errors stay as they are.
func diskError(err error) error {
	switch {
	case !isWriteRefusal(err):
		return err
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return fmt.Errorf("%w: %w", ErrDisk, err)
}

// try makes a change, again after the ballast was freed, and returns errDropped once the disk is gone. What was begun before
// another met the refusal is tried again too: it may have failed for the same room.
func (d *disk) try(change func() error) error {
	for {
		at := d.state.Load()
		if at == diskAbandoned {
			return errDropped
		}
		err := change()
		if !isWriteRefusal(err) {
			return err
		}
		d.onRefusal(at, err)
	}
}

// tryOnce is try for a sync: it must not be repeated, the system may have thrown away what it could not write.
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

// onRefusal goes on from state at.
func (d *disk) onRefusal(at int32, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.Load() > at {
		return // another write found out
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

// mayCompact says whether a compaction may write. After the ballast was freed only what others wait for may.
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

// open opens a file for writing: in memory, once the disk is gone.
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
	return d.FS.Open(name, opts...)
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
		_ = d.memFS.Remove(name) // what is on the disk stays
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

// Link implements vfs.FS. It is for copies of a store, and those must not be half made: it fails.
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

// ignoreDropped hides that a change was not made.
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
	table      bool // it is read again by name, so it fails rather than to miss a part
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

// Close implements vfs.File. What a late write could not store is said here by some file systems.
func (f *diskFile) Close() error {
	err := f.File.Close()
	if !isWriteRefusal(err) {
		return err
	}
	return f.change(f.d.tryOnce, func() error { return err })
}

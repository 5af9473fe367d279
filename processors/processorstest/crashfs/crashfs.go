// Package crashfs is a file system in memory that can be copied as a crash of the machine would
// leave it, while others write to it.
package crashfs

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

type memFS = vfs.MemFS

// FS is a vfs.MemFS whose CrashClone may run beside all other methods. Up to Pebble 2.1.7, Link,
// Lock and ReuseForWrite of a MemFS take a read lock twice, and wait for ever if CrashClone asks
// for the write lock between the two (https://github.com/cockroachdb/pebble/pull/5993). FS lets a
// copy wait until none of the three runs.
//
// It is needed as long as the project uses a version of Pebble without that change.
type FS struct {
	*memFS // not exported: its CrashClone waits for nothing

	twice sync.RWMutex // read: by the methods that take the lock of MemFS twice; write: by CrashClone
}

// New returns an empty file system.
func New() *FS { return &FS{memFS: vfs.NewCrashableMem()} }

// CrashClone returns a copy of the file system as a crash at this moment could leave it: what was
// synced, and a part of what was not.
func (f *FS) CrashClone(cfg vfs.CrashCloneCfg) *FS {
	f.twice.Lock()
	defer f.twice.Unlock()
	return &FS{memFS: f.memFS.CrashClone(cfg)}
}

// Link implements vfs.FS.
func (f *FS) Link(oldname, newname string) error {
	f.twice.RLock()
	defer f.twice.RUnlock()
	return f.memFS.Link(oldname, newname)
}

// Lock implements vfs.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	f.twice.RLock()
	defer f.twice.RUnlock()
	return f.memFS.Lock(name)
}

// ReuseForWrite implements vfs.FS.
func (f *FS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f.twice.RLock()
	defer f.twice.RUnlock()
	return f.memFS.ReuseForWrite(oldname, newname, category)
}

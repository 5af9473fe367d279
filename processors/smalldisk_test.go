//go:build synctests

package processors_test

import (
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a file system with room for a number of bytes. A write beyond that fails with err,
// as on a full disk or on a disk that was removed.
type smallDisk struct {
	vfs.FS
	err error

	mu       sync.Mutex
	room     int64 // below 0: no bound
	used     int64
	rejected int
}

// inodeBytes is the size of a file beside its content.
const inodeBytes = 64

// take reserves n bytes. It returns how many of them there was room for.
func (d *smallDisk) take(n int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room >= 0 && d.used+int64(n) > d.room {
		n = int(max(0, d.room-d.used))
		d.used += int64(n)
		d.rejected++
		return n, &os.PathError{Op: "write", Path: "small disk", Err: d.err}
	}
	d.used += int64(n)
	return n, nil
}

// free releases the bytes of a file that is removed.
func (d *smallDisk) free(name string) {
	if st, err := d.FS.Stat(name); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.used -= st.Size() + inodeBytes
	}
}

// shrink removes n bytes of room.
func (d *smallDisk) shrink(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = max(0, d.room-n)
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	d.free(name)
	if n, err := d.take(inodeBytes); err != nil {
		d.mu.Lock()
		d.used -= int64(n)
		d.mu.Unlock()
		return nil, err
	}
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d}, err
}

func (d *smallDisk) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Remove(oldname); err != nil {
		return nil, err
	}
	return d.Create(newname, c)
}

func (d *smallDisk) Remove(name string) error {
	d.free(name)
	return d.FS.Remove(name)
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room < 0 {
		return vfs.DiskUsage{AvailBytes: 1 << 40}, nil
	}
	return vfs.DiskUsage{AvailBytes: uint64(max(0, d.room-d.used))}, nil
}

type smallFile struct {
	vfs.File
	d *smallDisk
}

func (f *smallFile) Write(p []byte) (int, error) {
	n, full := f.d.take(len(p))
	m, err := f.File.Write(p[:n])
	if err == nil {
		err = full
	}
	return m, err
}

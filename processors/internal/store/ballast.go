package store

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// keepBallast keeps a file of size bytes. When the disk is full, disk removes the file, and the
// open transactions and the store end in the space that becomes free. The file is not made if less
// than twice its size is free, or if the file system does not report its free space.
func (d *disk) keepBallast(dir string, size int64) {
	has := int64(0)
	if st, err := d.FS.Stat(d.ballast); err == nil {
		has = st.Size()
	}
	if has == size {
		return
	}
	if has > 0 {
		if err := d.FS.Remove(d.ballast); err != nil {
			d.log.Warn().Err(err).Msg("ballast_missing")
			return
		}
	}
	room, err := d.FS.GetDiskUsage(dir)
	if size <= 0 || errors.Is(err, vfs.ErrUnsupported) {
		return
	}
	if err == nil && room.AvailBytes < 2*uint64(size) {
		err = fmt.Errorf("%d bytes are free in %s, less than twice the ballast of %d bytes", room.AvailBytes, dir, size)
	}
	if err == nil {
		err = d.writeBallast(size)
	}
	if err != nil {
		d.log.Warn().Err(err).Msg("ballast_missing")
	}
}

// writeBallast writes random bytes, which no file system can compress or omit.
func (d *disk) writeBallast(size int64) (err error) {
	f, err := d.FS.Create(d.ballast, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, d.FS.Remove(d.ballast))
		}
	}()
	block := make([]byte, min(size, 1<<20))
	if _, err := rand.Read(block); err != nil {
		return err
	}
	for ; size > 0; size -= int64(len(block)) {
		if _, err := f.Write(block[:min(size, int64(len(block)))]); err != nil {
			return err
		}
	}
	return f.Sync()
}

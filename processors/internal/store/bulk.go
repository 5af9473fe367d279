package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// BulkLoader loads the changes of a rebuild. It collects changes in memory, sorts them and writes
// them as a table that Pebble ingests, which avoids the write-ahead log and the memtables. While
// one table is written the next is collected. A crash leaves changes without meta, which count as
// an empty store.
type BulkLoader struct {
	store   *Store
	p       int32
	limit   int         // bytes of one table, before compression
	full    *bulkBuffer // the changes that are being collected; nil: none
	writing chan error  // the table that is being written
	files   int
}

// bulkBuffer has the changes of one table. Buffers are used again, because their growth takes time.
type bulkBuffer struct {
	buf  []byte
	list []change
}

// change is one record in the buffer of a BulkLoader: key, then value.
type change struct {
	prefix       uint64 // the 8 bytes of the key behind what all keys have in common
	at, key, end int
	deleted      bool
}

// size estimates the memory of the changes.
func (f *bulkBuffer) size() int { return len(f.buf) + 40*len(f.list) }

// bulkLimit returns the memory of one load: the restoring partitions share half of what is reserved
// for memtables, which a bulk load does not use.
func (s *Store) bulkLimit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(1<<20, int(s.memtableBytes)/2/max(1, len(s.owners)))
}

// NewBulkLoader returns a loader of partition p, which must be empty.
func NewBulkLoader(s *Store, p int32) *BulkLoader {
	return &BulkLoader{store: s, p: p, limit: s.bulkLimit()}
}

// Put adds a change and copies it. A nil value deletes the key.
func (b *BulkLoader) Put(key, value []byte) error {
	f := b.full
	if f == nil {
		var former bool
		if f, former = b.store.bulkBuffers.Get().(*bulkBuffer); !former {
			f = &bulkBuffer{}
		}
		b.full = f
	}
	at := len(f.buf)
	f.buf = binary.BigEndian.AppendUint16(f.buf, uint16(b.p))
	f.buf = append(append(f.buf, key...), value...)
	f.list = append(f.list, change{at: at, key: at + 2 + len(key), end: len(f.buf), deleted: value == nil})
	if f.size() < b.limit {
		return nil
	}
	return b.Spill()
}

// Bytes estimates the memory of the collected changes.
func (b *BulkLoader) Bytes() int {
	if b.full == nil {
		return 0
	}
	return b.full.size()
}

// Spill starts to write the collected changes, after the table in progress is written.
func (b *BulkLoader) Spill() error {
	if err := b.Wait(); err != nil || b.full == nil {
		return err
	}
	full, done := b.full, make(chan error, 1)
	b.files++
	name := path.Join(b.store.dir, fmt.Sprintf("%s%d-%d.sst", bulkPrefix, b.p, b.files))
	b.full, b.writing = nil, done
	go func() {
		err := full.write(b.store, name)
		full.buf, full.list = full.buf[:0], full.list[:0]
		b.store.bulkBuffers.Put(full)
		done <- err
	}()
	return nil
}

// Writing reports whether a table is in progress.
func (b *BulkLoader) Writing() bool { return b.writing != nil && len(b.writing) == 0 }

// Wait waits until the table in progress is written.
func (b *BulkLoader) Wait() error {
	if b.writing == nil {
		return nil
	}
	err := <-b.writing
	b.writing = nil
	return err
}

// Finish writes the remaining changes.
func (b *BulkLoader) Finish() error { return errors.Join(b.Spill(), b.Wait()) }

// bulkPrefix begins the names of tables that Pebble has not ingested yet.
const bulkPrefix = "bulk-"

// sort sorts the changes by key, the last change of a key first.
func (f *bulkBuffer) sort() {
	common := f.buf[f.list[0].at:f.list[0].key]
	for _, c := range f.list {
		for !bytes.HasPrefix(f.buf[c.at:c.key], common) {
			common = common[:len(common)-1]
		}
	}
	for i := range f.list {
		c, head := &f.list[i], [8]byte{}
		copy(head[:], f.buf[c.at+len(common):c.key])
		c.prefix = binary.BigEndian.Uint64(head[:])
	}
	slices.SortFunc(f.list, func(a, b change) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(f.buf[a.at:a.key], f.buf[b.at:b.key]); c != 0 {
			return c
		}
		return b.at - a.at
	})
}

// write writes the last change of each key to a table and ingests it.
func (f *bulkBuffer) write(s *Store, name string) error {
	f.sort()
	file, err := s.disk.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("write a table: %w", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), s.tables)
	var last []byte
	for _, c := range f.list {
		key := f.buf[c.at:c.key]
		switch {
		case bytes.Equal(key, last):
			continue // a newer change of the key was written
		case c.deleted:
			err = w.Delete(key)
		default:
			err = w.Set(key, f.buf[c.key:c.end])
		}
		if last = key; err != nil {
			break
		}
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = s.ingest(name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write a table: %w", err), s.disk.Remove(name))
	}
	return nil
}

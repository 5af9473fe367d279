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
	limit   int // bytes of one table, before compression
	buf     []byte
	list    []change
	spare   bulkBuffer
	writing chan error // the table that is being written
	files   int
}

type bulkBuffer struct {
	buf  []byte
	list []change
}

// change is one record in the buffer of a BulkLoader: key, then value.
type change struct {
	prefix       uint64 // first 8 bytes of the key after the partition, for a fast comparison
	at, key, end int
	deleted      bool
}

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
	at := len(b.buf)
	b.buf = binary.BigEndian.AppendUint16(b.buf, uint16(b.p))
	b.buf = append(append(b.buf, key...), value...)
	c := change{at: at, key: at + 2 + len(key), end: len(b.buf), deleted: value == nil}
	var head [8]byte
	copy(head[:], key)
	c.prefix = binary.BigEndian.Uint64(head[:])
	if b.list = append(b.list, c); len(b.buf)+40*len(b.list) < b.limit {
		return nil
	}
	return b.spill()
}

// spill starts to write the collected changes.
func (b *BulkLoader) spill() error {
	if err := b.Wait(); err != nil || len(b.list) == 0 {
		return err
	}
	full := bulkBuffer{b.buf, b.list}
	b.buf, b.list = b.spare.buf[:0], b.spare.list[:0]
	b.spare = full
	b.files++
	name := path.Join(b.store.dir, fmt.Sprintf("%s%d-%d.sst", bulkPrefix, b.p, b.files))
	b.writing = make(chan error, 1)
	go func() { b.writing <- full.write(b.store, name) }()
	return nil
}

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
func (b *BulkLoader) Finish() error { return errors.Join(b.spill(), b.Wait()) }

// bulkPrefix begins the names of tables that Pebble has not ingested yet.
const bulkPrefix = "bulk-"

// write writes the last change of each key to a table and ingests it.
func (f bulkBuffer) write(s *Store, name string) error {
	slices.SortFunc(f.list, func(a, b change) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(f.buf[a.at:a.key], f.buf[b.at:b.key]); c != 0 {
			return c
		}
		return b.at - a.at
	})
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

package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/stream"
)

// sparseBytes is the number of bytes on disk for each key from which keys count as sparse: two
// blocks.
const sparseBytes = 8 << 10

// MultiGet reads the rows of prefix, which is partition and table, with the given keys: see
// stream.MultiGet. One iterator reads all of them. Keys that lie far apart ask the filter of each
// table first, because most of them may be new; those that share blocks do not, because their
// blocks are read anyway.
func MultiGet(r pebble.Reader, prefix []byte, keys [][]byte, fn func(i int, value []byte) error) (err error) {
	if len(keys) == 0 {
		return nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: stream.PrefixEnd(prefix), UseL6Filters: true})
	if err != nil {
		return fmt.Errorf("read store: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	at := append(make([]byte, 0, 256), prefix...)
	seek := it.SeekPrefixGE
	if dense(r, prefix, keys) {
		seek = func(key []byte) bool { return it.SeekGE(key) && bytes.Equal(it.Key(), key) }
	}
	for i, key := range keys {
		if i > 0 && bytes.Compare(keys[i-1], key) > 0 {
			return fmt.Errorf("read store: key %d of %d is less than the key before it: sort the keys", i, len(keys))
		}
		at = append(at[:len(prefix)], key...)
		if !seek(at) {
			if err := it.Error(); err != nil {
				return fmt.Errorf("read store: %w", err)
			}
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("read store: %w", err)
		}
		if err := fn(i, value); err != nil {
			return err
		}
	}
	return nil
}

// dense reports whether the sorted keys share blocks: the part of the store between the first and
// the last has few bytes for each.
func dense(r pebble.Reader, prefix []byte, keys [][]byte) bool {
	db, ok := r.(interface {
		EstimateDiskUsage(start, end []byte) (uint64, error)
	})
	if !ok || len(keys) < 2 {
		return false
	}
	first, last := append(bytes.Clone(prefix), keys[0]...), append(bytes.Clone(prefix), keys[len(keys)-1]...)
	size, err := db.EstimateDiskUsage(first, last)
	return err == nil && size/uint64(len(keys)) < sparseBytes
}

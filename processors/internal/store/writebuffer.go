package store

import (
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/weirhq/weir/stream"
)

// WriteBuffer holds the changes of one task that Kafka has committed and the store does not have
// yet. A worker that is far behind writes the same keys in many transactions; the buffer passes
// only the last value of each key to the store. The store may always be behind Kafka: a crash then
// costs a longer restore and nothing else. Readers of the store see an older state until the buffer
// is flushed.
type WriteBuffer struct {
	keys  map[string]bufferedValue // by store key
	Bytes int
	since time.Time // time of the oldest buffered transaction, also of one that moved positions only; zero while the buffer is empty
}

type bufferedValue struct {
	bytes   []byte
	deleted bool
}

// maxBufferAge is the longest time that a change stays in the buffer.
const maxBufferAge = 2 * time.Second

// Add adds a transaction's changes.
func (l *WriteBuffer) Add(p int32, list []stream.Change) {
	if l.keys == nil {
		l.keys = map[string]bufferedValue{}
	}
	if !l.Pending() {
		l.since = time.Now()
	}
	for i := range list {
		c := &list[i]
		if c.Op != stream.OpPut && c.Op != stream.OpDelete {
			continue
		}
		k := c.StoreKey(p)
		v, known := l.keys[string(k)]
		if !known {
			l.Bytes += len(k) + 64
		}
		l.Bytes += len(c.Value) - len(v.bytes)
		l.keys[string(k)] = bufferedValue{append(v.bytes[:0], c.Value...), c.Op == stream.OpDelete}
	}
}

// Pending reports whether the buffer holds a transaction.
func (l *WriteBuffer) Pending() bool { return !l.since.IsZero() }

// Overdue reports whether a transaction has been in the buffer for too long.
func (l *WriteBuffer) Overdue() bool { return l.Pending() && time.Since(l.since) > maxBufferAge }

// Get returns the buffered value of a store key. known is false if the buffer has no change of the
// key; a nil value of a known key is a deletion.
func (l *WriteBuffer) Get(key []byte) (value []byte, known bool) {
	v, known := l.keys[string(key)]
	if !known || v.deleted {
		return nil, known
	}
	return append(make([]byte, 0, len(v.bytes)), v.bytes...), true
}

// MultiGet is the function MultiGet over the store and the buffered changes.
func (l *WriteBuffer) MultiGet(r pebble.Reader, prefix []byte, keys [][]byte, fn func(i int, value []byte) error) error {
	if len(l.keys) == 0 {
		return MultiGet(r, prefix, keys, fn)
	}
	at := slices.Clone(prefix)
	known := func(i int) (value bufferedValue, known bool) {
		at = append(at[:len(prefix)], keys[i]...)
		value, known = l.keys[string(at)]
		return value, known
	}
	next := 0
	buffered := func(end int) error { // the buffered values of keys[next:end]
		for ; next < end; next++ {
			if v, known := known(next); known && !v.deleted {
				if err := fn(next, v.bytes); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := MultiGet(r, prefix, keys, func(i int, value []byte) error {
		if err := buffered(i); err != nil {
			return err
		}
		if _, known := known(i); known {
			return nil // the next call of buffered
		}
		next = i + 1
		return fn(i, value)
	})
	if err != nil {
		return err
	}
	return buffered(len(keys))
}

// Scan is the function Scan over the store and the buffered changes.
func (l *WriteBuffer) Scan(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) error {
	return l.ScanRange(r, prefix, stream.PrefixEnd(prefix), fn)
}

// ScanRange is the function ScanRange over the store and the buffered changes. Both bounds have to
// be in one table.
func (l *WriteBuffer) ScanRange(r pebble.Reader, lower, upper []byte, fn func(key, value []byte) error) error {
	var buffered []string
	for k := range l.keys {
		if k >= string(lower) && (upper == nil || k < string(upper)) {
			buffered = append(buffered, k)
		}
	}
	slices.Sort(buffered)
	emit := func(k string) error {
		if v := l.keys[k]; !v.deleted {
			return fn([]byte(k)[keyPrefixLen:], v.bytes)
		}
		return nil
	}
	head := lower[:min(keyPrefixLen, len(lower))]
	err := ScanRange(r, lower, upper, func(key, value []byte) error {
		k := string(head) + string(key)
		for len(buffered) > 0 && buffered[0] < k {
			if err := emit(buffered[0]); err != nil {
				return err
			}
			buffered = buffered[1:]
		}
		if len(buffered) > 0 && buffered[0] == k {
			defer func() { buffered = buffered[1:] }()
			return emit(k)
		}
		return fn(key, value)
	})
	for ; err == nil && len(buffered) > 0; buffered = buffered[1:] {
		err = emit(buffered[0])
	}
	return err
}

// keyPrefixLen is the length of partition and table at the front of a store key.
const keyPrefixLen = 3

// FlushTo adds all buffered changes to b and empties the buffer.
func (l *WriteBuffer) FlushTo(b *pebble.Batch) error {
	order := slices.Collect(maps.Keys(l.keys))
	slices.Sort(order)
	for _, k := range order {
		v := l.keys[k]
		var err error
		if v.deleted {
			err = b.Delete([]byte(k), nil)
		} else {
			err = b.Set([]byte(k), v.bytes, nil)
		}
		if err != nil {
			return err
		}
	}
	clear(l.keys)
	l.Bytes, l.since = 0, time.Time{}
	return nil
}

package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir/stream"
)

// Format is how a row is written.
type Format[V any] struct {
	Append func(dst []byte, v *V) []byte
	Parse  func(value []byte) (V, error)
}

// Table is one table. It is not safe for concurrent use.
type Table[V any] struct {
	number     byte
	get        stream.Get
	format     Format[V]
	changed    map[string]row[V]
	prefetched map[string]row[V] // by Prefetch, since the last Flush
	buf        []byte
}

type row[V any] struct {
	v       V
	deleted bool
}

// New is table number of what get reads.
func New[V any](number byte, get stream.Get, f Format[V]) *Table[V] {
	return &Table[V]{number: number, get: get, format: f, changed: map[string]row[V]{}}
}

// Get is the row of key as it is now. An error means that it could not be read.
func (t *Table[V]) Get(key string) (v V, ok bool, err error) {
	if v, ok, known := t.cached(key); known {
		return v, ok, nil
	}
	return t.load(key)
}

func (t *Table[V]) load(key string) (v V, ok bool, err error) {
	value, err := t.get(t.number, []byte(key))
	if err != nil {
		return v, false, fmt.Errorf("read table %d: %w", t.number, err)
	}
	if value == nil {
		return v, false, nil
	}
	if v, err = t.format.Parse(value); err != nil {
		return v, false, fmt.Errorf("table %d, key %q: %w", t.number, key, err)
	}
	return v, true, nil
}

// Prefetch reads the rows of keys, which it sorts: a store that does not fit in memory reads neighbours at once. They are kept
// until the next call or Flush.
func (t *Table[V]) Prefetch(keys []string) error {
	t.prefetched = make(map[string]row[V], len(keys))
	slices.Sort(keys)
	for _, key := range keys {
		if _, _, known := t.cached(key); known {
			continue
		}
		v, ok, err := t.load(key)
		if err != nil {
			return err
		}
		t.prefetched[key] = row[V]{v, !ok}
	}
	return nil
}

// cached is the row of key if it is in cached.
func (t *Table[V]) cached(key string) (v V, ok, known bool) {
	for _, m := range []map[string]row[V]{t.changed, t.prefetched} {
		if r, known := m[key]; known {
			return r.v, !r.deleted, true
		}
	}
	return v, false, false
}

// Put makes v the row of key.
func (t *Table[V]) Put(key string, v V) { t.changed[key] = row[V]{v: v} }

// Delete removes the row of key.
func (t *Table[V]) Delete(key string) { t.changed[key] = row[V]{deleted: true} }

// Len is how many rows the open transaction changed.
func (t *Table[V]) Len() int { return len(t.changed) }

// Flush hands over what changed since the last one, in the order of the keys.
func (t *Table[V]) Flush(ch *stream.Changes) {
	for _, key := range slices.Sorted(maps.Keys(t.changed)) {
		r := t.changed[key]
		if r.deleted {
			ch.Delete(t.number, []byte(key))
			continue
		}
		t.buf = t.format.Append(t.buf[:0], &r.v)
		ch.Put(t.number, []byte(key), t.buf)
	}
	clear(t.changed)
	t.prefetched = nil
}

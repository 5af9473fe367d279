package overlay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir/internal/stream"
)

// Format is how a row is written.
type Format[V any] struct {
	Append func(dst []byte, v *V) []byte
	Parse  func(value []byte) (V, error)
}

// Table is one table. It is not safe for concurrent use.
type Table[V any] struct {
	number  byte
	get     stream.Get
	format  Format[V]
	open    map[string]row[V]
	flushed map[string]row[V]
	buf     []byte
}

type row[V any] struct {
	v    V
	gone bool
}

// New is table number of what get reads.
func New[V any](number byte, get stream.Get, f Format[V]) *Table[V] {
	return &Table[V]{number: number, get: get, format: f, open: map[string]row[V]{}}
}

// Get is the row of key as it is now. An error means that it could not be read.
func (t *Table[V]) Get(key string) (v V, ok bool, err error) {
	r, known := t.open[key]
	if !known {
		r, known = t.flushed[key]
	}
	if known {
		return r.v, !r.gone, nil
	}
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

// Put makes v the row of key.
func (t *Table[V]) Put(key string, v V) { t.open[key] = row[V]{v: v} }

// Delete removes the row of key.
func (t *Table[V]) Delete(key string) { t.open[key] = row[V]{gone: true} }

// Len is how many rows the open transaction changed.
func (t *Table[V]) Len() int { return len(t.open) }

// Flush hands over what changed since the last one, in the order of the keys.
func (t *Table[V]) Flush(ch *stream.Changes) {
	for _, key := range slices.Sorted(maps.Keys(t.open)) {
		r := t.open[key]
		if r.gone {
			ch.Delete(t.number, []byte(key))
			continue
		}
		t.buf = t.format.Append(t.buf[:0], &r.v)
		ch.Put(t.number, []byte(key), t.buf)
	}
	t.flushed, t.open = t.open, map[string]row[V]{}
}

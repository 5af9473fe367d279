package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhq/weir/stream"
)

// Cache is a table of one task with the open transaction in memory, for handlers of batches:
//
//	handler ──Put, Delete──▶ changed ───────Flush──────▶ stream.Changes ──▶ the runtime's store
//	        ◀──────Get────── changed, prefetched, or stream.Get ◀───────────┘
//
// It holds the rows that changed since the last Flush, and those that were prefetched for the
// records or timers at hand, decoded. All others are in the store alone. It is not safe for
// concurrent use.
type Cache[K cmp.Ordered, V any] struct {
	table      *Table[K, V]
	get        stream.Get
	changed    map[K]row[V]
	prefetched map[K]row[V] // by Prefetch, since the last Flush
}

type row[V any] struct {
	v       V
	deleted bool
}

// NewCache makes a Cache of table over what get reads, such as Task.Get.
func NewCache[K cmp.Ordered, V any](table *Table[K, V], get stream.Get) *Cache[K, V] {
	return &Cache[K, V]{table: table, get: get, changed: map[K]row[V]{}}
}

// Get returns the value of key, and whether there is one. It shares slices, maps and pointers with
// later calls: clone them before you change them. The error means that the row could not be read.
func (c *Cache[K, V]) Get(key K) (v V, ok bool, err error) {
	if v, ok, known := c.cached(key); known {
		return v, ok, nil
	}
	return c.table.Get(c.get, key)
}

// Prefetch reads the rows of keys, which it sorts: a store that does not fit in memory reads
// neighbours at once. The rows are kept until the next Prefetch or Flush.
func (c *Cache[K, V]) Prefetch(keys []K) error {
	c.prefetched = make(map[K]row[V], len(keys))
	slices.Sort(keys)
	for _, key := range keys {
		if _, _, known := c.cached(key); known {
			continue
		}
		v, ok, err := c.table.Get(c.get, key)
		if err != nil {
			return err
		}
		c.prefetched[key] = row[V]{v, !ok}
	}
	return nil
}

// cached returns the row of key if it is in memory.
func (c *Cache[K, V]) cached(key K) (v V, ok, known bool) {
	for _, m := range []map[K]row[V]{c.changed, c.prefetched} {
		if r, known := m[key]; known {
			return r.v, !r.deleted, true
		}
	}
	return v, false, false
}

// Put sets key to v.
func (c *Cache[K, V]) Put(key K, v V) { c.changed[key] = row[V]{v: v} }

// Delete removes key.
func (c *Cache[K, V]) Delete(key K) { c.changed[key] = row[V]{deleted: true} }

// Len returns how many rows changed since the last Flush.
func (c *Cache[K, V]) Len() int { return len(c.changed) }

// Flush hands over the changes since the last Flush, in the order of the keys, and forgets all
// rows: Task.Get returns them from the next call of the handler on.
func (c *Cache[K, V]) Flush(ch *stream.Changes) {
	for _, key := range slices.Sorted(maps.Keys(c.changed)) {
		if r := c.changed[key]; r.deleted {
			c.table.Delete(ch, key)
		} else {
			c.table.Put(ch, key, r.v)
		}
	}
	clear(c.changed)
	c.prefetched = nil
}

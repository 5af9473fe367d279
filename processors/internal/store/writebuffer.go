package store

import (
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/weirhq/weir/stream"
)

// WriteBuffer keeps changes of one task that Kafka has committed and the store does not have yet. A worker that is far behind writes
// the same keys transaction after transaction: of several it gives the store the last values only. The store may always be
// behind Kafka, so a crash costs a longer tail and nothing else; who asks the store meanwhile gets an older answer.
type WriteBuffer struct {
	keys  map[string]bufferedValue // by store key
	Bytes int
	since time.Time // of the oldest transaction that waits, which may have changed nothing but positions; zero: none
}

type bufferedValue struct {
	bytes   []byte
	deleted bool
}

// maxBufferAge is the longest that a change waits for the store.
const maxBufferAge = 2 * time.Second

// Add takes a transaction's changes.
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

// Pending reports whether a transaction is not in the store yet.
func (l *WriteBuffer) Pending() bool { return !l.since.IsZero() }

// Overdue reports whether a transaction has waited too long.
func (l *WriteBuffer) Overdue() bool { return l.Pending() && time.Since(l.since) > maxBufferAge }

// Get gives what the task's handler may not have in memory any more.
func (l *WriteBuffer) Get(key []byte) (value []byte, known bool) {
	v, known := l.keys[string(key)]
	if !known || v.deleted {
		return nil, known
	}
	return append(make([]byte, 0, len(v.bytes)), v.bytes...), true
}

// Scan is Scan over the store and the changes that it does not have yet.
func (l *WriteBuffer) Scan(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) error {
	return l.ScanRange(r, prefix, PrefixEnd(prefix), fn)
}

// ScanRange is ScanRange over the store and the changes that it does not have yet. Both bounds are in one table.
func (l *WriteBuffer) ScanRange(r pebble.Reader, lower, upper []byte, fn func(key, value []byte) error) error {
	var mine []string
	for k := range l.keys {
		if k >= string(lower) && (upper == nil || k < string(upper)) {
			mine = append(mine, k)
		}
	}
	slices.Sort(mine)
	give := func(k string) error {
		if v := l.keys[k]; !v.deleted {
			return fn([]byte(k)[keyPrefixLen:], v.bytes)
		}
		return nil
	}
	head := lower[:min(keyPrefixLen, len(lower))]
	err := ScanRange(r, lower, upper, func(key, value []byte) error {
		k := string(head) + string(key)
		for len(mine) > 0 && mine[0] < k {
			if err := give(mine[0]); err != nil {
				return err
			}
			mine = mine[1:]
		}
		if len(mine) > 0 && mine[0] == k {
			defer func() { mine = mine[1:] }()
			return give(k)
		}
		return fn(key, value)
	})
	for ; err == nil && len(mine) > 0; mine = mine[1:] {
		err = give(mine[0])
	}
	return err
}

// keyPrefixLen is what precedes a key in the store: the partition and the table.
const keyPrefixLen = 3

// FlushTo writes everything to b and forgets it.
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

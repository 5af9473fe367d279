package processors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/stream"
)

// later keeps changes of one task that Kafka has committed and the store does not have yet. A worker that is far behind writes
// the same keys transaction after transaction: of several it gives the store the last values only. The store may always be
// behind Kafka, so a crash costs a longer tail and nothing else; who asks the store meanwhile gets an older answer.
type later struct {
	keys  map[string]laterValue // by store key
	bytes int
	since time.Time // of the oldest transaction that waits, which may have changed nothing but positions; zero: none
}

type laterValue struct {
	bytes   []byte
	deleted bool
}

// laterFor is the longest that a change waits for the store.
const laterFor = 2 * time.Second

// keeps says whether the task's changes can wait: no range of keys, and no timers, which are read from the store.
func (t *task) keeps() bool {
	if _, timed := t.handler.(stream.TimerHandler); timed {
		return false
	}
	return !slices.ContainsFunc(t.changes.List, func(c stream.Change) bool { return c.Op == stream.OpDeleteRange })
}

// add takes a transaction's changes.
func (l *later) add(p int32, list []stream.Change) {
	if l.keys == nil {
		l.keys = map[string]laterValue{}
	}
	if !l.waits() {
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
			l.bytes += len(k) + 64
		}
		l.bytes += len(c.Value) - len(v.bytes)
		l.keys[string(k)] = laterValue{append(v.bytes[:0], c.Value...), c.Op == stream.OpDelete}
	}
}

// waits reports whether a transaction is not in the store yet.
func (l *later) waits() bool { return !l.since.IsZero() }

// overdue reports whether a transaction has waited too long.
func (l *later) overdue() bool { return l.waits() && time.Since(l.since) > laterFor }

// get gives what the task's handler may not have in memory any more.
func (l *later) get(key []byte) (value []byte, known bool) {
	v, known := l.keys[string(key)]
	if !known || v.deleted {
		return nil, known
	}
	return append(make([]byte, 0, len(v.bytes)), v.bytes...), true
}

// scan is scan over the store and what it does not have yet.
func (l *later) scan(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) error {
	var mine []string
	for k := range l.keys {
		if strings.HasPrefix(k, string(prefix)) {
			mine = append(mine, k)
		}
	}
	slices.Sort(mine)
	give := func(k string) error {
		if v := l.keys[k]; !v.deleted {
			return fn([]byte(k)[keyHead:], v.bytes)
		}
		return nil
	}
	head := prefix[:min(keyHead, len(prefix))]
	err := scan(r, prefix, func(key, value []byte) error {
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

// keyHead is what precedes a key in the store: the partition and the table.
const keyHead = 3

// into writes everything to b and forgets it.
func (l *later) into(b *pebble.Batch) error {
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
	l.bytes, l.since = 0, time.Time{}
	return nil
}

// writeLater gives the store all that waits of a task, with the meta that belongs to it.
func (t *task) writeLater(b *pebble.Batch) error {
	if err := t.later.into(b); err != nil {
		return fmt.Errorf("batch of partition %d: %w", t.p, err)
	}
	return putMeta(b, t.p, t.meta)
}

// defers says whether the changes of the transaction that just committed may wait: while there is more to read than a
// transaction takes, not for long, and not without bound.
func (w *worker) defers() bool {
	if !w.behind {
		return false
	}
	bytes := 0
	for _, t := range w.tasks {
		if t.later == nil {
			continue
		}
		if t.later.overdue() {
			return false
		}
		bytes += t.later.bytes
	}
	return bytes < w.cfg.CommitBytes/w.cfg.Workers
}

// settleLater writes what waits, once the worker is not behind any more.
func (w *worker) settleLater() error {
	if w.behind {
		return nil
	}
	size := 4096
	var waiting []*task // mostly none, and this runs with every poll
	for _, t := range w.tasks {
		if t.later != nil && t.later.waits() {
			size, waiting = size+t.later.bytes+512, append(waiting, t)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	b := w.store.db.NewBatchWithSize(size)
	defer func() { _ = b.Close() }()
	for _, t := range waiting {
		if err := t.writeLater(b); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

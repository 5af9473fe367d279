package processors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// timers are the timers of one task: those of the store, and over them those that the open
// transaction has set, cancelled or fired. A timer is the key [clock][time, 8 bytes][key] of table
// 127. So the store has timers in the order in which they fire, and a task with ten million timers
// reads those that are due.
type timers struct {
	p      int32
	db     pebble.Reader
	clocks [2]clock
	bytes  int
}

// clock has the timers of one clock.
type clock struct {
	open  map[string]bool // of the open transaction; true: set; false: cancelled or fired
	heap  keyHeap         // the keys of open that were set
	next  int64           // no timer of the store is due before this time
	fired int64           // the store has no timer before this time
}

const never = math.MaxInt64

func newTimers(p int32, db pebble.Reader) *timers {
	t := &timers{p: p, db: db}
	for i := range t.clocks {
		t.clocks[i].open = map[string]bool{}
	}
	return t
}

// disable keeps the timers of the store from being read, for handlers without OnTimer.
func (t *timers) disable() { t.clocks[0].next, t.clocks[1].next = never, never }

// timerKey is the identity of a timer within its clock.
func timerKey(atMs int64, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(max(0, atMs))), key...)
}

func timerTime(k string) int64 { return int64(binary.BigEndian.Uint64([]byte(k[:8]))) }

// Set implements stream.Timers.
func (t *timers) Set(timer stream.Timer) {
	c, k := &t.clocks[timer.Clock], string(timerKey(timer.AtMs, timer.Key))
	if !c.open[k] {
		t.note(c, k, true)
		c.heap.push(k)
	}
}

// Cancel implements stream.Timers.
func (t *timers) Cancel(timer stream.Timer) {
	t.note(&t.clocks[timer.Clock], string(timerKey(timer.AtMs, timer.Key)), false)
}

// note records in the open transaction that a timer was set, or was cancelled or fired.
func (t *timers) note(c *clock, k string, set bool) {
	if _, known := c.open[k]; !known {
		t.bytes += len(k) + 16
	}
	c.open[k] = set
}

// ready reports whether a timer may be due.
func (t *timers) ready(of stream.Clock, upTo int64) bool {
	c := &t.clocks[of]
	c.dropStale()
	return c.next <= upTo || len(c.heap) > 0 && timerTime(c.heap[0]) <= upTo
}

// dropStale removes cancelled and fired timers from the top of the heap.
func (c *clock) dropStale() {
	for len(c.heap) > 0 && !c.open[c.heap[0]] {
		c.heap.pop()
	}
}

// due returns up to limit timers that are due, in the order of time and key. They count as fired.
func (t *timers) due(of stream.Clock, upTo int64, limit int) ([]stream.Timer, error) {
	if !t.ready(of, upTo) {
		return nil, nil
	}
	c := &t.clocks[of]
	stored, err := t.stored(of, upTo, limit)
	if err != nil {
		return nil, err
	}
	var out []stream.Timer
	last := ""
	for len(out) < limit {
		c.dropStale()
		k := ""
		switch open := len(c.heap) > 0 && timerTime(c.heap[0]) <= upTo; {
		case open && (len(stored) == 0 || c.heap[0] <= stored[0]):
			k = c.heap.pop()
		case len(stored) > 0:
			k, stored = stored[0], stored[1:]
		}
		if k == "" {
			break
		}
		if k == last { // set twice, or set again over what is in the store
			continue
		}
		last = k
		t.note(c, k, false)
		out = append(out, stream.Timer{Clock: of, AtMs: timerTime(k), Key: []byte(k[8:])})
	}
	if len(stored) > 0 { // the rest is read again
		c.next = timerTime(stored[0])
		c.fired = min(c.fired, c.next)
	}
	return out, nil
}

// stored reads the timers of the store that are due and were not cancelled or fired in the open
// transaction.
func (t *timers) stored(of stream.Clock, upTo int64, limit int) (list []string, err error) {
	c := &t.clocks[of]
	if c.next > upTo {
		return nil, nil
	}
	prefix := store.Key(t.p, stream.TimerTable, []byte{byte(of)})
	it, err := t.db.NewIter(&pebble.IterOptions{
		LowerBound: binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(c.fired)), UpperBound: stream.PrefixEnd(prefix),
	})
	if err != nil {
		return nil, fmt.Errorf("scan timers: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	c.next = never
	all := true
	for it.First(); it.Valid(); it.Next() {
		k := string(it.Key()[len(prefix):])
		if len(k) < 8 {
			return nil, fmt.Errorf("scan timers: key %x is too short for a timer", it.Key())
		}
		if set, known := c.open[k]; known && !set {
			continue
		}
		if at := timerTime(k); at > upTo || len(list) == limit {
			c.next = at
			all = at > upTo
			break
		}
		list = append(list, k)
	}
	if all {
		c.fired = upTo
	}
	return list, it.Error()
}

// changed reports whether the open transaction has changed a timer.
func (t *timers) changed() bool { return len(t.clocks[0].open)+len(t.clocks[1].open) > 0 }

// flush adds the changes of timers to ch, in the order of the store, which writes sorted keys twice
// as fast.
func (t *timers) flush(ch *stream.Changes) {
	var key []byte
	for i := range t.clocks {
		open := t.clocks[i].open
		for _, k := range slices.Sorted(maps.Keys(open)) {
			if key = append(append(key[:0], byte(i)), k...); open[k] {
				ch.Put(stream.TimerTable, key, nil)
			} else {
				ch.Delete(stream.TimerTable, key)
			}
		}
	}
}

// committed ends the transaction: its changes are in the store now.
func (t *timers) committed() {
	for i := range t.clocks {
		c := &t.clocks[i]
		for k, set := range c.open {
			if set {
				c.next, c.fired = min(c.next, timerTime(k)), min(c.fired, timerTime(k))
			}
		}
		clear(c.open)
		c.heap = c.heap[:0]
	}
	t.bytes = 0
}

// nextMs returns a time before which no timer of either clock is due; 0 if there is no timer.
func (t *timers) nextMs() int64 {
	next := int64(never)
	for i := range t.clocks {
		c := &t.clocks[i]
		c.dropStale()
		next = min(next, c.next)
		if len(c.heap) > 0 {
			next = min(next, timerTime(c.heap[0]))
		}
	}
	if next == never {
		return 0
	}
	return next
}

// keyHeap is a min-heap of timer keys.
type keyHeap []string

func (h *keyHeap) push(k string) {
	*h = append(*h, k)
	a := *h
	for i := len(a) - 1; i > 0 && a[i] < a[(i-1)/2]; i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
}

func (h *keyHeap) pop() string {
	a := *h
	least, last := a[0], len(a)-1
	a[0], a[last] = a[last], ""
	a = a[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && a[child+1] < a[child] {
			child++
		}
		if child >= last || a[i] <= a[child] {
			break
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
	*h = a
	return least
}

// TimerTable describes the table of a processor's timers to people.
func TimerTable() stream.TableInfo {
	return stream.TableInfo{Number: stream.TimerTable, Name: "timers", Key: timerKeyJSON}
}

// timerKeyJSON shows a key of the table: the clock, then a timerKey.
func timerKeyJSON(key []byte) ([]byte, error) {
	if len(key) < 9 || key[0] > byte(stream.WallTime) {
		return nil, fmt.Errorf("key %x is not clock, time and key of a timer", key)
	}
	clock := "event"
	if stream.Clock(key[0]) == stream.WallTime {
		clock = "wall"
	}
	kind, own := stream.Timer{Key: key[9:]}.Kind()
	return json.Marshal(struct {
		Clock string           `json:"clock"`
		AtMs  int64            `json:"at_ms"`
		Kind  stream.TimerKind `json:"kind,omitempty"`
		Key   string           `json:"key"`
	}{clock, int64(binary.BigEndian.Uint64(key[1:9])), kind, string(own)})
}

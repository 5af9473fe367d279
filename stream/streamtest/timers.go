package streamtest

import (
	"container/heap"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/weirhq/weir/stream"
)

// timers are a task's timers, of both clocks.
type timers struct{ clocks [2]clock }

// clock has the timers of one clock by identity: time, then key.
type clock struct {
	committed map[string]bool
	open      map[string]bool // of the open transaction: true is set, false is cancelled or fired
	heap      timerHeap       // all that is or was set
	fired     []string        // taken from heap in the open transaction
}

func newTimers() (t timers) {
	for i := range t.clocks {
		t.clocks[i] = clock{committed: map[string]bool{}, open: map[string]bool{}}
	}
	return t
}

func identity(t stream.Timer) string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(max(0, t.AtMs))), t.Key...))
}

func timer(c stream.Clock, id string) stream.Timer {
	return stream.Timer{Clock: c, AtMs: atMs(id), Key: []byte(id[8:])}
}

func atMs(id string) int64 { return int64(binary.BigEndian.Uint64([]byte(id[:8]))) }

// Set implements stream.Timers.
func (t *timers) Set(x stream.Timer) {
	c, id := &t.clocks[x.Clock], identity(x)
	if !c.set(id) {
		heap.Push(&c.heap, id)
	}
	c.open[id] = true
}

// Cancel implements stream.Timers.
func (t *timers) Cancel(x stream.Timer) { t.clocks[x.Clock].open[identity(x)] = false }

// set reports whether a timer is set in the open transaction.
func (c *clock) set(id string) bool {
	if set, known := c.open[id]; known {
		return set
	}
	return c.committed[id]
}

// changed reports whether the open transaction sets, cancels or fires timers.
func (t *timers) changed() bool { return len(t.clocks[0].open)+len(t.clocks[1].open) > 0 }

// due takes up to limit timers that are due, in order of time and key.
func (t *timers) due(of stream.Clock, nowMs int64, limit int) (due []stream.Timer) {
	c := &t.clocks[of]
	for len(due) < limit && len(c.heap) > 0 && atMs(c.heap[0]) <= nowMs {
		id := heap.Pop(&c.heap).(string) //nolint:errcheck // it holds strings
		c.fired = append(c.fired, id)
		if c.set(id) {
			c.open[id] = false
			due = append(due, timer(of, id))
		}
	}
	return due
}

func (t *timers) commit() {
	for i := range t.clocks {
		c := &t.clocks[i]
		for id, set := range c.open {
			if set {
				c.committed[id] = true
			} else {
				delete(c.committed, id)
			}
		}
		c.open, c.fired = map[string]bool{}, nil
	}
}

func (t *timers) crash() {
	for i := range t.clocks {
		c := &t.clocks[i]
		c.open = map[string]bool{}
		for _, id := range c.fired {
			heap.Push(&c.heap, id)
		}
		c.fired = nil
	}
}

func (t *timers) list() (all []stream.Timer) {
	for i := range t.clocks {
		for _, id := range slices.Sorted(maps.Keys(t.clocks[i].committed)) {
			all = append(all, timer(stream.Clock(i), id))
		}
	}
	return all
}

func (t *timers) nextMs(of stream.Clock) (int64, bool) {
	c := &t.clocks[of]
	for len(c.heap) > 0 && !c.set(c.heap[0]) && !c.committed[c.heap[0]] {
		heap.Pop(&c.heap)
	}
	if len(c.heap) == 0 {
		return 0, false
	}
	return atMs(c.heap[0]), true
}

// timerHeap is a heap of identities: the earliest is the first.
type timerHeap []string

func (o timerHeap) Len() int           { return len(o) }
func (o timerHeap) Less(i, j int) bool { return o[i] < o[j] }
func (o timerHeap) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }

// Push implements heap.Interface.
func (o *timerHeap) Push(x any) { *o = append(*o, x.(string)) } //nolint:errcheck // it holds strings

// Pop implements heap.Interface.
func (o *timerHeap) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	(*o)[last] = ""
	*o = (*o)[:last]
	return x
}

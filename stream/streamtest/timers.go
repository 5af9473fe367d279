package streamtest

import (
	"container/heap"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
)

// timers are a task's timers by their identity, time before key.
type timers struct {
	tb    testing.TB
	held  map[string]bool // committed
	open  map[string]bool // of the open transaction: true is set, false is cancelled or fired
	heap  timerHeap       // all that is or was set
	fired []string        // taken from heap in the open transaction
}

func newTimers(tb testing.TB) timers {
	return timers{tb: tb, held: map[string]bool{}, open: map[string]bool{}}
}

func identity(t stream.Timer) string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(max(0, t.AtMs))), t.Key...))
}

func timer(id string) stream.Timer {
	return stream.Timer{Clock: stream.WallTime, AtMs: atMs(id), Key: []byte(id[8:])}
}

func atMs(id string) int64 { return int64(binary.BigEndian.Uint64([]byte(id[:8]))) }

// Set implements stream.Timers.
func (t *timers) Set(x stream.Timer) {
	if x.Clock != stream.WallTime {
		t.tb.Fatalf("streamtest knows timers of the time of day only")
	}
	id := identity(x)
	if !t.set(id) {
		heap.Push(&t.heap, id)
	}
	t.open[id] = true
}

// Cancel implements stream.Timers.
func (t *timers) Cancel(x stream.Timer) { t.open[identity(x)] = false }

// set says whether a timer is set, as the open transaction has it.
func (t *timers) set(id string) bool {
	if set, known := t.open[id]; known {
		return set
	}
	return t.held[id]
}

func (t *timers) due(nowMs int64, limit int) (due []stream.Timer) {
	for len(due) < limit && len(t.heap) > 0 && atMs(t.heap[0]) <= nowMs {
		id := heap.Pop(&t.heap).(string) //nolint:errcheck // it holds strings
		t.fired = append(t.fired, id)
		if t.set(id) {
			t.open[id] = false
			due = append(due, timer(id))
		}
	}
	return due
}

func (t *timers) commit() {
	for id, set := range t.open {
		if set {
			t.held[id] = true
		} else {
			delete(t.held, id)
		}
	}
	t.open, t.fired = map[string]bool{}, nil
}

func (t *timers) crash() {
	t.open = map[string]bool{}
	for _, id := range t.fired {
		heap.Push(&t.heap, id)
	}
	t.fired = nil
}

func (t *timers) list() (all []stream.Timer) {
	for _, id := range slices.Sorted(maps.Keys(t.held)) {
		all = append(all, timer(id))
	}
	return all
}

func (t *timers) nextMs() (int64, bool) {
	for len(t.heap) > 0 && !t.set(t.heap[0]) && !t.held[t.heap[0]] {
		heap.Pop(&t.heap)
	}
	if len(t.heap) == 0 {
		return 0, false
	}
	return atMs(t.heap[0]), true
}

// timerHeap is a heap of identities: time before key.
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

package dynamotest

import (
	"container/heap"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// agenda is a queue of functions to call later, ordered by time. Functions with the same time are
// called in the order in which they were added.
type agenda struct {
	tasks tasks
	seq   uint64
}

type task struct {
	due int64 // nanoseconds since 1970
	seq uint64
	do  func()
}

func (a *agenda) add(due int64, do func()) {
	a.seq++
	heap.Push(&a.tasks, task{due, a.seq, do})
}

// next removes and returns the first task that is due at now.
func (a *agenda) next(now int64) (task, bool) {
	if len(a.tasks) == 0 || a.tasks[0].due > now {
		return task{}, false
	}
	t, _ := heap.Pop(&a.tasks).(task)
	return t, true
}

// tasks implements heap.Interface.
type tasks []task

func (t tasks) Len() int      { return len(t) }
func (t tasks) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t tasks) Less(i, j int) bool {
	return t[i].due < t[j].due || t[i].due == t[j].due && t[i].seq < t[j].seq
}

func (t *tasks) Push(x any) {
	if one, ok := x.(task); ok {
		*t = append(*t, one)
	}
}

func (t *tasks) Pop() any {
	old := *t
	one := old[len(old)-1]
	old[len(old)-1] = task{} // or the slice's array would keep the function alive
	*t = old[:len(old)-1]
	return one
}

// lanes keep the writes of an item in order while they lag. Each item has one of sixteen lanes, by
// the hash of its key. Writes of one lane arrive in the order in which they were sent; writes of
// different lanes overtake each other, as the writes of different items do in DynamoDB. An element
// is the arrival time of the lane's last write, in nanoseconds since 1970.
type lanes [16]int64

// due returns the arrival time of a write of key that is sent at now, with a lag drawn from span.
func (l *lanes) due(key string, now int64, span Span, rng *rand.Rand) int64 {
	if span.Max == 0 {
		return now
	}
	lane := &l[xxhash.Sum64String(key)%uint64(len(l))]
	*lane = max(*lane, now+span.draw(rng))
	return *lane
}

// draw returns a random duration of the span, in nanoseconds.
func (s Span) draw(rng *rand.Rand) int64 {
	if s.Max == s.Min {
		return int64(s.Min)
	}
	return int64(s.Min) + rng.Int64N(int64(s.Max-s.Min)+1)
}

package dynamotest

import (
	"container/heap"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// agenda is what is to happen later, by time, and at the same time by the order in which it was put there.
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

// next takes the first task that is due by now.
func (a *agenda) next(now int64) (task, bool) {
	if len(a.tasks) == 0 || a.tasks[0].due > now {
		return task{}, false
	}
	t, _ := heap.Pop(&a.tasks).(task)
	return t, true
}

// tasks is a heap.
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
	old[len(old)-1] = task{} // or what it does lives on behind the slice
	*t = old[:len(old)-1]
	return one
}

// lanes keep the writes of an item in order on their way to where they lag: those of one lane arrive as they left. Each
// item has one of a few lanes, so that items overtake each other, as in DynamoDB.
type lanes [16]int64

// due returns when what leaves now arrives, after a lag drawn from span.
func (l *lanes) due(key string, now int64, span Span, dice *rand.Rand) int64 {
	if span.Max == 0 {
		return now
	}
	lane := &l[xxhash.Sum64String(key)%uint64(len(l))]
	*lane = max(*lane, now+span.draw(dice))
	return *lane
}

// draw returns a duration of the span in nanoseconds.
func (s Span) draw(dice *rand.Rand) int64 {
	if s.Max == s.Min {
		return int64(s.Min)
	}
	return int64(s.Min) + dice.Int64N(int64(s.Max-s.Min)+1)
}
